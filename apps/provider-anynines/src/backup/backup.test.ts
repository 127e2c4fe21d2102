import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, restores, serviceInstances } from "@klutch/api";
import { recordAt } from "@klutch/kube-core";
import { BackupFixture } from "../testing/backup-fixture.ts";
import { refusal } from "../testing/memory-manager.ts";

const minute = 60_000;
const hour = 60 * minute;
const operation = "anynines.crossplane.io/broker-operation";
const numberOfBackup = "anynines.crossplane.io/backup-id";

/** A fixture with an instance, after the provider has seen it. */
async function start(): Promise<BackupFixture> {
  const fixture = new BackupFixture();
  await fixture.addInstance();
  fixture.start();
  await fixture.clock.advance(minute);
  return fixture;
}

async function annotations(fixture: BackupFixture, name = "b"): Promise<Readonly<Record<string, string>>> {
  return (await fixture.find(backups, name))?.metadata.annotations ?? {};
}

test("a backup is made once, its status says what the manager says, and its end leaves nothing", async () => {
  await using fixture = await start();
  await fixture.addBackup("b");
  await fixture.clock.advance(5_000);
  assert.equal(await fixture.condition(backups, "b"), "False Creating");
  await fixture.clock.advance(minute);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  const written = await annotations(fixture);
  assert.equal(written[numberOfBackup], "1");
  assert.equal(written["crossplane.io/external-name"], "1");
  assert.equal(written["anynines.crossplane.io/service-id"], "s");
  assert.equal(written[operation], undefined);
  const { status } = (await fixture.find(backups, "b")) ?? {};
  const { instanceId, id, status: state, triggered_at: triggeredAt } = recordAt(status, "atProvider");
  assert.deepEqual([instanceId, id, state], ["db-id", 1, "done"]);
  assert.match(String(triggeredAt), /^2025-12-31T23:0\d:\d\d\.\d{3}Z$/);
  await fixture.user.delete(backups, { name: "b" });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.find(backups, "b"), undefined);
  assert.deepEqual(
    [...fixture.manager.backups.values()].map((backup) => backup.state),
    ["deleted"],
  );
});

test("a backup waits with words for its instance, and begins at once when that is ready", async () => {
  await using fixture = new BackupFixture();
  fixture.start();
  await fixture.addBackup("b");
  await fixture.clock.advance(minute);
  assert.equal(
    await fixture.condition(backups, "b", "Synced"),
    "False WaitingForInstance create failed: there is no instance db in the namespace of this Backup",
  );
  await fixture.addInstance();
  await fixture.clock.advance(minute);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
});

test("of two instances of one name none is backed up", async () => {
  await using fixture = await start();
  await fixture.user.create(serviceInstances, {
    ...(await fixture.user.get(serviceInstances, { name: "db" })),
    metadata: {
      name: "other",
      labels: { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" },
    },
  });
  await fixture.addBackup("b");
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(backups, "b", "Synced"),
    /there is more than one instance db in the namespace of this Backup/,
  );
  assert.equal(fixture.manager.backups.size, 0);
});

test("another type than the instance's, and settings of the instance, are refused by name", async () => {
  await using fixture = await start();
  const providerConfigRef = { name: "mariadb-backup-manager" };
  await fixture.addBackup("wrong", { spec: { providerConfigRef } });
  await fixture.addBackup("set", { forProvider: { encryption_key: "k" } });
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(backups, "wrong", "Synced"),
    /serviceInstanceType of the backup wrong is mariadb, but db is of type postgresql/,
  );
  assert.match(
    await fixture.condition(backups, "set", "Synced"),
    /spec\.forProvider\.encryption_key has no effect on a backup: .*; remove it/,
  );
  assert.equal(fixture.manager.backups.size, 0);
});

test("a clear no stands in the condition, leaves no intent, and is tried again", async () => {
  await using fixture = await start();
  const no = refusal("createBackup", 404, "InstanceNotFound", "Never heard of it.");
  fixture.manager.refusals.set("createBackup", no);
  await fixture.addBackup("b");
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(backups, "b", "Synced"),
    /create failed: .*InstanceNotFound: Never heard of it/,
  );
  assert.equal((await annotations(fixture))[operation], undefined);
  fixture.manager.refusals.clear();
  await fixture.clock.advance(5 * minute);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  assert.equal(fixture.manager.backups.size, 1);
});

test("after a no of something that stands before the manager, and after 429, it is looked for before it is made", async () => {
  for (const status of [400, 404, 429]) {
    await using fixture = await start();
    const { error, description } = refusal("createBackup", status, "Page", "A proxy's.");
    const own = status === 429;
    const no = Object.assign(refusal("createBackup", status, error, description), { own });
    fixture.manager.refusals.set("createBackup", no);
    await fixture.addBackup("b");
    await fixture.clock.advance(5_000);
    assert.notEqual((await annotations(fixture))[operation], undefined, `${status}`);
    fixture.manager.refusals.clear();
    await fixture.clock.advance(100_000);
    assert.equal(fixture.manager.backups.size, 0, "nothing is made for two minutes");
    await fixture.clock.advance(minute);
    assert.equal(await fixture.condition(backups, "b"), "True Available");
    assert.equal(fixture.manager.backups.size, 1);
  }
});

test("two backups of one instance are made one after the other, and each has its own number", async () => {
  await using fixture = await start();
  for (const name of ["b", "c", "d"]) await fixture.addBackup(name);
  await fixture.clock.advance(2 * minute);
  const numbers = await Promise.all(
    ["b", "c", "d"].map(async (name) => (await annotations(fixture, name))[numberOfBackup]),
  );
  assert.deepEqual(new Set(numbers), new Set(["1", "2", "3"]));
  assert.equal(fixture.manager.backups.size, 3);
});

test("of several that are new after a lost answer the lowest is taken, and the others are named and left alone", async () => {
  await using fixture = await start();
  const { manager } = fixture;
  manager.loseNext("createBackup");
  await fixture.addBackup("b");
  await fixture.clock.advance(100);
  assert.equal(manager.backups.size, 1);
  manager.makeBackup("db-id");
  await fixture.clock.advance(minute);
  assert.equal((await annotations(fixture))[numberOfBackup], "1");
  assert.deepEqual(fixture.notices, ["1 was taken; 2 came at the same time and stay"]);
  await fixture.user.delete(backups, { name: "b" });
  await fixture.clock.advance(minute);
  assert.equal(manager.backups.get(2)?.state, "done");
});

test("the intent keeps what was there before through all tries", async () => {
  await using fixture = await start();
  const { manager } = fixture;
  manager.makeBackup("db-id");
  manager.refusals.set("createBackup", refusal("createBackup", 503, "Down", "Later."));
  await fixture.addBackup("b");
  await fixture.clock.advance(hour);
  const { after, startedAt } = JSON.parse((await annotations(fixture))[operation] ?? "{}") as Record<
    string,
    unknown
  >;
  assert.deepEqual(recordAt({ after }, "after")["id"], 1);
  assert.ok(Number(startedAt) > fixture.clock.now() - 150_000, "the last try is not old");
  assert.equal(manager.backups.size, 1);
});

for (const [what, change] of [
  ["by retention", (fixture: BackupFixture) => fixture.manager.setState("backups", 1, "deleted")],
  ["from the manager's memory", (fixture: BackupFixture) => void fixture.manager.backups.delete(1)],
] as const) {
  test(`a backup that went ${what} is shown so, is not created again, and can be deleted`, async () => {
    await using fixture = await start();
    await fixture.addBackup("b");
    await fixture.clock.advance(minute);
    change(fixture);
    await fixture.clock.advance(hour);
    assert.equal(
      await fixture.condition(backups, "b"),
      "False Deleted the backup is gone at the backup manager (retention or by hand)",
    );
    const { status } = (await fixture.find(backups, "b")) ?? {};
    assert.equal(recordAt(status, "atProvider")["status"], "deleted");
    assert.equal(fixture.effects.log.filter((one) => one === "createBackup").length, 1);
    await fixture.user.delete(serviceInstances, { name: "db" });
    await fixture.clock.advance(minute);
    assert.equal(await fixture.find(serviceInstances, "db"), undefined, "it holds no instance");
    await fixture.user.delete(backups, { name: "b" });
    await fixture.clock.advance(minute);
    assert.equal(await fixture.find(backups, "b"), undefined);
  });
}

test("a backup that failed says so until it is deleted", async () => {
  await using fixture = await start();
  fixture.manager.endsAs = "failed";
  await fixture.addBackup("b");
  await fixture.clock.advance(hour);
  assert.match(await fixture.condition(backups, "b"), /^False Failed .*backup 1 has failed/);
  assert.equal(fixture.manager.backups.size, 1);
});

test("a state that no one knows is shown as it is, is no end, and does not hold a deletion", async () => {
  await using fixture = await start();
  fixture.manager.endsAs = "verifying";
  await fixture.addBackup("b");
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(backups, "b"),
    /^Unknown Unknown .*is "verifying", which is not known here/,
  );
  const { status } = (await fixture.find(backups, "b")) ?? {};
  assert.equal(recordAt(status, "atProvider")["status"], "verifying");
  fixture.manager.setState("backups", 1, "done");
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
});

test("a deletion that the manager refuses stands in the condition in its words, and is tried again", async () => {
  await using fixture = await start();
  await fixture.addBackup("b");
  await fixture.clock.advance(minute);
  fixture.manager.refusals.set(
    "deleteBackup",
    refusal("deleteBackup", 423, "Locked", "A restore is running."),
  );
  await fixture.user.delete(backups, { name: "b" });
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(backups, "b", "Synced"),
    /delete failed: .*Locked: A restore is running/,
  );
  fixture.manager.refusals.clear();
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.find(backups, "b"), undefined);
});

test("a backup that is deleted while its call is in doubt is found first, so that nothing is left behind", async () => {
  await using fixture = await start();
  fixture.manager.loseNext("createBackup");
  fixture.manager.refusals.set("listBackups", refusal("listBackups", 503, "Down", "Later."));
  await fixture.addBackup("early");
  await fixture.clock.advance(1_000);
  assert.equal(fixture.manager.backups.size, 0, "nothing is made while the list cannot be had");
  fixture.manager.refusals.clear();
  await fixture.clock.advance(minute);
  await fixture.user.delete(backups, { name: "early" });
  await fixture.clock.advance(5 * minute);
  assert.equal(await fixture.find(backups, "early"), undefined);
  assert.deepEqual(
    [...fixture.manager.backups.values()].map(({ state }) => state),
    ["deleted"],
  );
});

test("a backup whose instance is gone is let go of without asking", async () => {
  await using fixture = await start();
  await fixture.addBackup("b", { spec: { deletionPolicy: "Delete" } });
  await fixture.clock.advance(minute);
  await fixture.user.mergePatch(serviceInstances, { name: "db" }, { metadata: { finalizers: null } });
  await fixture.user.delete(serviceInstances, { name: "db" });
  fixture.manager.refusals.set("getBackup", refusal("getBackup", 500, "Down", "For ever."));
  await fixture.user.delete(backups, { name: "b" });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.find(backups, "b"), undefined);
});

test("an external name that is a number adopts that backup, and nothing is made", async () => {
  await using fixture = await start();
  const id = fixture.manager.makeBackup("db-id");
  await fixture.clock.advance(minute);
  await fixture.addBackup("b", {
    annotations: { "crossplane.io/external-name": String(id) },
    spec: { managementPolicies: ["Observe"] },
  });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  await fixture.user.delete(backups, { name: "b" });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.find(backups, "b"), undefined);
  assert.equal(fixture.manager.backups.get(id)?.state, "done");
  assert.equal(fixture.manager.backups.size, 1);
});

test("a number that somebody damaged stops everything, with words, until a person corrects it", async () => {
  await using fixture = await start();
  await fixture.addBackup("b", { annotations: { [numberOfBackup]: "seven" } });
  await fixture.clock.advance(minute);
  assert.match(await fixture.condition(backups, "b", "Synced"), /backup-id is "seven", which is no number/);
  assert.equal(fixture.manager.backups.size, 0);
  assert.equal(await fixture.condition(restores, "none"), "");
});
