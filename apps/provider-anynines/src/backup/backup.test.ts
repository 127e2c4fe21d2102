import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, restores, serviceInstances } from "@klutch/api";
import { recordAt } from "@klutch/kube-core";
import { BackupWorld } from "../testing/backup-world.ts";
import { refusal } from "../testing/memory-manager.ts";

const minute = 60_000;
const hour = 60 * minute;
const operation = "anynines.crossplane.io/broker-operation";
const numberOfBackup = "anynines.crossplane.io/backup-id";

/** A world with an instance, after the provider has seen it. */
async function start(): Promise<BackupWorld> {
  const world = new BackupWorld();
  await world.addInstance();
  world.start();
  await world.clock.advance(minute);
  return world;
}

async function annotations(world: BackupWorld, name = "b"): Promise<Readonly<Record<string, string>>> {
  return (await world.find(backups, name))?.metadata.annotations ?? {};
}

test("a backup is made once, its status says what the manager says, and its end leaves nothing", async () => {
  await using world = await start();
  await world.addBackup("b");
  await world.clock.advance(5_000);
  assert.equal(await world.condition(backups, "b"), "False Creating");
  await world.clock.advance(minute);
  assert.equal(await world.condition(backups, "b"), "True Available");
  const written = await annotations(world);
  assert.equal(written[numberOfBackup], "1");
  assert.equal(written["crossplane.io/external-name"], "1");
  assert.equal(written["anynines.crossplane.io/service-id"], "s");
  assert.equal(written[operation], undefined);
  const { status } = (await world.find(backups, "b")) ?? {};
  const { instanceId, id, status: state, triggered_at: triggeredAt } = recordAt(status, "atProvider");
  assert.deepEqual([instanceId, id, state], ["db-id", 1, "done"]);
  assert.match(String(triggeredAt), /^2025-12-31T23:0\d:\d\d\.\d{3}Z$/);
  await world.user.delete(backups, { name: "b" });
  await world.clock.advance(minute);
  assert.equal(await world.find(backups, "b"), undefined);
  assert.deepEqual(
    [...world.manager.backups.values()].map((backup) => backup.state),
    ["deleted"],
  );
});

test("a backup waits with words for its instance, and begins at once when that is ready", async () => {
  await using world = new BackupWorld();
  world.start();
  await world.addBackup("b");
  await world.clock.advance(minute);
  assert.equal(
    await world.condition(backups, "b", "Synced"),
    "False WaitingForInstance create failed: there is no instance db in namespace team",
  );
  await world.addInstance();
  await world.clock.advance(minute);
  assert.equal(await world.condition(backups, "b"), "True Available");
});

test("of two instances of one name none is backed up", async () => {
  await using world = await start();
  await world.user.create(serviceInstances, {
    ...(await world.user.get(serviceInstances, { name: "db" })),
    metadata: {
      name: "other",
      labels: { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" },
    },
  });
  await world.addBackup("b");
  await world.clock.advance(minute);
  assert.match(
    await world.condition(backups, "b", "Synced"),
    /there is more than one instance db in namespace team/,
  );
  assert.equal(world.manager.backups.size, 0);
});

test("another type than the instance's, and settings of the instance, are refused by name", async () => {
  await using world = await start();
  const providerConfigRef = { name: "mariadb-backup-manager" };
  await world.addBackup("wrong", { spec: { providerConfigRef } });
  await world.addBackup("set", { forProvider: { encryption_key: "k" } });
  await world.clock.advance(minute);
  assert.match(
    await world.condition(backups, "wrong", "Synced"),
    /serviceInstanceType of the backup wrong is mariadb, but db is of type postgresql/,
  );
  assert.match(
    await world.condition(backups, "set", "Synced"),
    /spec\.forProvider\.encryption_key has no effect on a backup: .*; remove it/,
  );
  assert.equal(world.manager.backups.size, 0);
});

test("a clear no stands in the condition, leaves no intent, and is tried again", async () => {
  await using world = await start();
  const no = refusal("createBackup", 404, "InstanceNotFound", "Never heard of it.");
  world.manager.refusals.set("createBackup", no);
  await world.addBackup("b");
  await world.clock.advance(minute);
  assert.match(
    await world.condition(backups, "b", "Synced"),
    /create failed: .*InstanceNotFound: Never heard of it/,
  );
  assert.equal((await annotations(world))[operation], undefined);
  world.manager.refusals.clear();
  await world.clock.advance(5 * minute);
  assert.equal(await world.condition(backups, "b"), "True Available");
  assert.equal(world.manager.backups.size, 1);
});

test("after a no of something that stands before the manager, and after 429, it is looked for before it is made", async () => {
  for (const status of [400, 404, 429]) {
    await using world = await start();
    const { error, description } = refusal("createBackup", status, "Page", "A proxy's.");
    const own = status === 429;
    const no = Object.assign(refusal("createBackup", status, error, description), { own });
    world.manager.refusals.set("createBackup", no);
    await world.addBackup("b");
    await world.clock.advance(5_000);
    assert.notEqual((await annotations(world))[operation], undefined, `${status}`);
    world.manager.refusals.clear();
    await world.clock.advance(100_000);
    assert.equal(world.manager.backups.size, 0, "nothing is made for two minutes");
    await world.clock.advance(minute);
    assert.equal(await world.condition(backups, "b"), "True Available");
    assert.equal(world.manager.backups.size, 1);
  }
});

test("two backups of one instance are made one after the other, and each has its own number", async () => {
  await using world = await start();
  for (const name of ["b", "c", "d"]) await world.addBackup(name);
  await world.clock.advance(2 * minute);
  const numbers = await Promise.all(
    ["b", "c", "d"].map(async (name) => (await annotations(world, name))[numberOfBackup]),
  );
  assert.deepEqual(new Set(numbers), new Set(["1", "2", "3"]));
  assert.equal(world.manager.backups.size, 3);
});

test("of several that are new after a lost answer the lowest is taken, and the others are named and left alone", async () => {
  await using world = await start();
  const { manager } = world;
  manager.loseNext("createBackup");
  await world.addBackup("b");
  await world.clock.advance(100);
  assert.equal(manager.backups.size, 1);
  manager.makeBackup("db-id");
  await world.clock.advance(minute);
  assert.equal((await annotations(world))[numberOfBackup], "1");
  assert.deepEqual(world.notices, ["1 was taken; 2 came at the same time and stay"]);
  await world.user.delete(backups, { name: "b" });
  await world.clock.advance(minute);
  assert.equal(manager.backups.get(2)?.state, "done");
});

test("the intent keeps what was there before through all tries", async () => {
  await using world = await start();
  const { manager } = world;
  manager.makeBackup("db-id");
  manager.refusals.set("createBackup", refusal("createBackup", 503, "Down", "Later."));
  await world.addBackup("b");
  await world.clock.advance(hour);
  const { after, startedAt } = JSON.parse((await annotations(world))[operation] ?? "{}") as Record<
    string,
    unknown
  >;
  assert.deepEqual(recordAt({ after }, "after")["id"], 1);
  assert.ok(Number(startedAt) > world.clock.now() - 150_000, "the last try is not old");
  assert.equal(manager.backups.size, 1);
});

for (const [what, change] of [
  ["by retention", (world: BackupWorld) => world.manager.setState("backups", 1, "deleted")],
  ["from the manager's memory", (world: BackupWorld) => void world.manager.backups.delete(1)],
] as const) {
  test(`a backup that went ${what} is shown so, is not created again, and can be deleted`, async () => {
    await using world = await start();
    await world.addBackup("b");
    await world.clock.advance(minute);
    change(world);
    await world.clock.advance(hour);
    assert.equal(
      await world.condition(backups, "b"),
      "False Deleted the backup is gone at the backup manager (retention or by hand)",
    );
    const { status } = (await world.find(backups, "b")) ?? {};
    assert.equal(recordAt(status, "atProvider")["status"], "deleted");
    assert.equal(world.effects.log.filter((one) => one === "createBackup").length, 1);
    await world.user.delete(serviceInstances, { name: "db" });
    await world.clock.advance(minute);
    assert.equal(await world.find(serviceInstances, "db"), undefined, "it holds no instance");
    await world.user.delete(backups, { name: "b" });
    await world.clock.advance(minute);
    assert.equal(await world.find(backups, "b"), undefined);
  });
}

test("a backup that failed says so until it is deleted", async () => {
  await using world = await start();
  world.manager.endsAs = "failed";
  await world.addBackup("b");
  await world.clock.advance(hour);
  assert.match(await world.condition(backups, "b"), /^False Failed .*backup 1 has failed/);
  assert.equal(world.manager.backups.size, 1);
});

test("a state that no one knows is shown as it is, is no end, and does not hold a deletion", async () => {
  await using world = await start();
  world.manager.endsAs = "verifying";
  await world.addBackup("b");
  await world.clock.advance(minute);
  assert.match(
    await world.condition(backups, "b"),
    /^Unknown Unknown .*is "verifying", which is not known here/,
  );
  const { status } = (await world.find(backups, "b")) ?? {};
  assert.equal(recordAt(status, "atProvider")["status"], "verifying");
  world.manager.setState("backups", 1, "done");
  await world.clock.advance(2 * minute);
  assert.equal(await world.condition(backups, "b"), "True Available");
});

test("a deletion that the manager refuses stands in the condition in its words, and is tried again", async () => {
  await using world = await start();
  await world.addBackup("b");
  await world.clock.advance(minute);
  world.manager.refusals.set("deleteBackup", refusal("deleteBackup", 423, "Locked", "A restore is running."));
  await world.user.delete(backups, { name: "b" });
  await world.clock.advance(minute);
  assert.match(
    await world.condition(backups, "b", "Synced"),
    /delete failed: .*Locked: A restore is running/,
  );
  world.manager.refusals.clear();
  await world.clock.advance(2 * minute);
  assert.equal(await world.find(backups, "b"), undefined);
});

test("a backup that is deleted while its call is in doubt is found first, so that nothing is left behind", async () => {
  await using world = await start();
  world.manager.loseNext("createBackup");
  world.manager.refusals.set("listBackups", refusal("listBackups", 503, "Down", "Later."));
  await world.addBackup("early");
  await world.clock.advance(1_000);
  assert.equal(world.manager.backups.size, 0, "nothing is made while the list cannot be had");
  world.manager.refusals.clear();
  await world.clock.advance(minute);
  await world.user.delete(backups, { name: "early" });
  await world.clock.advance(5 * minute);
  assert.equal(await world.find(backups, "early"), undefined);
  assert.deepEqual(
    [...world.manager.backups.values()].map(({ state }) => state),
    ["deleted"],
  );
});

test("a backup whose instance is gone is let go of without asking", async () => {
  await using world = await start();
  await world.addBackup("b", { spec: { deletionPolicy: "Delete" } });
  await world.clock.advance(minute);
  await world.user.mergePatch(serviceInstances, { name: "db" }, { metadata: { finalizers: null } });
  await world.user.delete(serviceInstances, { name: "db" });
  world.manager.refusals.set("getBackup", refusal("getBackup", 500, "Down", "For ever."));
  await world.user.delete(backups, { name: "b" });
  await world.clock.advance(minute);
  assert.equal(await world.find(backups, "b"), undefined);
});

test("an external name that is a number adopts that backup, and nothing is made", async () => {
  await using world = await start();
  const id = world.manager.makeBackup("db-id");
  await world.clock.advance(minute);
  await world.addBackup("b", {
    annotations: { "crossplane.io/external-name": String(id) },
    spec: { managementPolicies: ["Observe"] },
  });
  await world.clock.advance(minute);
  assert.equal(await world.condition(backups, "b"), "True Available");
  await world.user.delete(backups, { name: "b" });
  await world.clock.advance(minute);
  assert.equal(await world.find(backups, "b"), undefined);
  assert.equal(world.manager.backups.get(id)?.state, "done");
  assert.equal(world.manager.backups.size, 1);
});

test("a number that somebody damaged stops everything, with words, until a person corrects it", async () => {
  await using world = await start();
  await world.addBackup("b", { annotations: { [numberOfBackup]: "seven" } });
  await world.clock.advance(minute);
  assert.match(await world.condition(backups, "b", "Synced"), /backup-id is "seven", which is no number/);
  assert.equal(world.manager.backups.size, 0);
  assert.equal(await world.condition(restores, "none"), "");
});
