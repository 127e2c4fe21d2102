import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, managedServiceBindings, restores, serviceInstances } from "@klutch/api";
import { recordAt } from "@klutch/kube-core";
import { BackupFixture } from "../testing/backup-fixture.ts";
import { refusal } from "../testing/memory-manager.ts";

const minute = 60_000;
const hour = 60 * minute;

/** A fixture with an instance and a backup `b` of its rows, which are then destroyed. */
async function start(): Promise<BackupFixture> {
  const fixture = new BackupFixture();
  await fixture.addInstance();
  fixture.start();
  await fixture.addBackup("b");
  await fixture.clock.advance(2 * minute);
  fixture.manager.rows.set("db-id", "destroyed");
  return fixture;
}

test("a restore puts the rows back once, and nothing makes it run again", async () => {
  await using fixture = await start();
  const { manager, clock } = fixture;
  await fixture.addRestore("r");
  await clock.advance(5_000);
  assert.equal(await fixture.condition(restores, "r"), "False Creating");
  await clock.advance(minute);
  assert.equal(await fixture.condition(restores, "r"), "True Available Restore completed successfully");
  assert.equal(manager.rows.get("db-id"), "rows");
  const { status } = (await fixture.find(restores, "r")) ?? {};
  const { instanceId, backupId, restoreId, state } = recordAt(status, "atProvider");
  assert.deepEqual([instanceId, backupId, restoreId, state], ["db-id", 1, 2, "done"]);
  manager.rows.set("db-id", "written afterwards");
  manager.restores.clear();
  await fixture.user.mergePatch(restores, { name: "r" }, { status: null }, { subresource: "status" });
  await clock.advance(3 * hour);
  assert.equal(await fixture.condition(restores, "r"), "True Available Restore completed successfully");
  assert.equal(manager.rows.get("db-id"), "written afterwards");
  await fixture.user.delete(restores, { name: "r" });
  await clock.advance(minute);
  assert.equal(await fixture.find(restores, "r"), undefined);
});

test("a restore waits for its backup with words, and begins at once when that is done", async () => {
  await using fixture = new BackupFixture();
  await fixture.addInstance();
  fixture.start();
  fixture.manager.takesMs = 10 * minute;
  await fixture.addRestore("r");
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(restores, "r", "Synced"),
    /there is no backup b in the namespace of this Restore/,
  );
  await fixture.addBackup("b");
  await fixture.clock.advance(minute);
  assert.match(await fixture.condition(restores, "r", "Synced"), /the backup b is not ready: it is queued/);
  await fixture.clock.advance(10 * minute);
  assert.equal(fixture.manager.restores.size, 1);
});

test("a backup that failed or is gone ends the restore, and it stays ended when another one comes", async () => {
  for (const ending of ["failed", "deleted"]) {
    await using fixture = new BackupFixture();
    await fixture.addInstance();
    fixture.start();
    fixture.manager.endsAs = ending;
    await fixture.addBackup("b");
    await fixture.clock.advance(minute);
    await fixture.addRestore("r");
    await fixture.clock.advance(minute);
    assert.match(
      await fixture.condition(restores, "r"),
      /^False BackupNotUsable the backup b (has failed|is gone)/,
    );
    await fixture.user.delete(backups, { name: "b" });
    await fixture.clock.advance(minute);
    fixture.manager.endsAs = "done";
    await fixture.addBackup("b");
    await fixture.clock.advance(hour);
    assert.equal(await fixture.condition(backups, "b"), "True Available");
    assert.match(await fixture.condition(restores, "r"), /^False BackupNotUsable/);
    assert.equal(fixture.manager.restores.size, 0);
  }
});

test("another instance, another type, and another version are refused with both names", async () => {
  await using fixture = await start();
  await fixture.addRestore("elsewhere", { forProvider: { instanceName: "other" } });
  await fixture.addRestore("typed", { spec: { providerConfigRef: { name: "mariadb-backup-manager" } } });
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(restores, "elsewhere", "Synced"),
    /instanceRef is other, but the backup b is of the instance db/,
  );
  assert.match(
    await fixture.condition(restores, "typed", "Synced"),
    /serviceInstanceType of the restore typed is mariadb, but b is of type postgresql/,
  );
  await fixture.user.mergePatch(
    serviceInstances,
    { name: "db" },
    { metadata: { annotations: { "crossplane.io/paused": "true" } } },
  );
  await fixture.setStatus(serviceInstances, "db", { serviceId: "s-18" });
  await fixture.addRestore("later");
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(restores, "later", "Synced"),
    /was made of the service s, but the instance db is of s-18 now/,
  );
  await fixture.setStatus(serviceInstances, "db", { instanceId: "new-id", serviceId: "s" });
  await fixture.clock.advance(2 * minute);
  assert.match(
    await fixture.condition(restores, "later", "Synced"),
    /was made of the instance db-id at its broker, but db is new-id now/,
  );
  assert.equal(fixture.manager.restores.size, 0);
});

test("a restore that runs cannot be deleted, and its backup and its instance wait for it", async () => {
  await using fixture = await start();
  fixture.manager.takesMs = 10 * minute;
  await fixture.addRestore("r");
  await fixture.clock.advance(10_000);
  await fixture.user.delete(serviceInstances, { name: "db" });
  await fixture.user.delete(backups, { name: "b" });
  await fixture.user.delete(restores, { name: "r" });
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(serviceInstances, "db", "Synced"),
    /the instance is still restored by r; wait until they have ended; it is still needed by the backups b; delete these/,
  );
  assert.match(
    await fixture.condition(backups, "b", "Synced"),
    /the restore r of this backup is still running/,
  );
  assert.match(await fixture.condition(restores, "r", "Synced"), /the restore r is still running/);
  await fixture.clock.advance(10 * minute);
  for (const [type, name] of [
    [restores, "r"],
    [backups, "b"],
    [serviceInstances, "db"],
  ] as const)
    assert.equal(await fixture.find(type, name), undefined, type.kind);
});

test("while a restore runs, its instance is neither changed, bound nor backed up; then all goes on", async () => {
  await using fixture = await start();
  fixture.manager.takesMs = 10 * minute;
  await fixture.addRestore("r");
  await fixture.clock.advance(10_000);
  await fixture.addBackup("late");
  await fixture.addBinding("bound");
  await fixture.user.mergePatch(
    serviceInstances,
    { name: "db" },
    { spec: { forProvider: { parameters: { work_mem: "8MB" } } } },
  );
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(backups, "late", "Synced"),
    /the restore r of the same instance is running/,
  );
  assert.match(
    await fixture.condition(serviceInstances, "db", "Synced"),
    /the restore r of the instance is running; it is changed afterwards/,
  );
  assert.match(
    await fixture.condition(managedServiceBindings, "bound", "Synced"),
    /the restore r of the instance is running; it is bound afterwards/,
  );
  assert.equal(fixture.manager.backups.size, 1);
  await fixture.clock.advance(30 * minute);
  assert.equal(await fixture.condition(backups, "late"), "True Available");
  assert.equal(await fixture.condition(managedServiceBindings, "bound"), "True Available");
});

test("a restore of somebody else is waited for and named, and then this one runs once", async () => {
  await using fixture = await start();
  const { manager } = fixture;
  manager.takesMs = 5 * minute;
  manager.startRestore("db-id", 1);
  await fixture.addRestore("r");
  await fixture.clock.advance(minute);
  assert.match(
    await fixture.condition(restores, "r", "Synced"),
    /restore 2 of the same instance is queued at the backup manager; this one begins when it has ended/,
  );
  assert.equal(manager.restores.size, 1);
  await fixture.clock.advance(15 * minute);
  assert.equal(await fixture.condition(restores, "r"), "True Available Restore completed successfully");
  assert.equal(manager.restores.size, 2);
});

test("a late request of a dead process that the second one meets is taken, and none runs twice", async () => {
  await using fixture = await start();
  const { manager } = fixture;
  manager.refusals.set("createRestore", refusal("createRestore", 504, "Timeout", "No answer."));
  await fixture.addRestore("r");
  await fixture.clock.advance(110_000);
  manager.refusals.set(
    "createRestore",
    refusal("createRestore", 409, "ConcurrencyError", "A restore is in progress."),
  );
  await fixture.clock.advance(20_000);
  manager.takesMs = 100;
  manager.startRestore("db-id", 1);
  await fixture.clock.advance(1_000);
  manager.rows.set("db-id", "written afterwards");
  manager.refusals.clear();
  await fixture.clock.advance(hour);
  assert.equal(await fixture.condition(restores, "r"), "True Available Restore completed successfully");
  assert.equal(manager.restores.size, 1);
  assert.equal(manager.rows.get("db-id"), "written afterwards");
});

test("a backup that cannot be restored from ends the restore in the manager's words, unless it is still moving", async () => {
  await using fixture = await start();
  const { manager } = fixture;
  // The status says that it is done, because no one has asked since.
  manager.setState("backups", 1, "running");
  await fixture.addRestore("r");
  await fixture.clock.advance(1_000);
  assert.equal(fixture.effects.log.filter((what) => what === "createRestore").length, 1);
  assert.match(await fixture.condition(restores, "r", "Synced"), /the backup b is not ready: it is running/);
  manager.setState("backups", 1, "done");
  await fixture.clock.advance(minute);
  assert.equal(manager.restores.size, 1);
  manager.refusals.set(
    "createRestore",
    refusal("createRestore", 422, "InvalidStatusError", "Its file is broken."),
  );
  await fixture.addRestore("never");
  await fixture.clock.advance(minute);
  assert.match(await fixture.condition(restores, "never"), /^False BackupNotUsable .*Its file is broken/);
  manager.refusals.clear();
  await fixture.clock.advance(hour);
  assert.equal(manager.restores.size, 1);
});

test("a backup that the manager lost meanwhile ends the restore", async () => {
  await using fixture = await start();
  fixture.manager.backups.clear();
  await fixture.addRestore("r");
  await fixture.clock.advance(hour);
  assert.match(await fixture.condition(restores, "r"), /^False BackupNotUsable .*There is no such backup/);
});

test("a restore that failed is not tried again", async () => {
  await using fixture = await start();
  fixture.manager.endsAs = "failed";
  await fixture.addRestore("r");
  await fixture.clock.advance(hour);
  assert.match(await fixture.condition(restores, "r"), /^False Failed .*restore 2 has failed/);
  assert.equal(fixture.manager.restores.size, 1);
});

test("a restore that the manager forgot is over, and is not run again", async () => {
  await using fixture = await start();
  fixture.manager.takesMs = hour;
  await fixture.addRestore("r");
  await fixture.clock.advance(minute);
  fixture.manager.restores.clear();
  await fixture.clock.advance(hour);
  assert.match(await fixture.condition(restores, "r"), /^False Deleted .*does not have restore 2 any more/);
  assert.equal(fixture.manager.restores.size, 0);
});

test("a state that no one knows is no end, and the words fit into the status", async () => {
  await using fixture = await start();
  fixture.manager.endsAs = "verifying";
  await fixture.addRestore("r");
  await fixture.clock.advance(minute);
  assert.match(await fixture.condition(restores, "r"), /^Unknown Unknown .*is "verifying"/);
  const { status } = (await fixture.find(restores, "r")) ?? {};
  assert.equal(recordAt(status, "atProvider")["state"], "verifying");
  fixture.manager.setState("restores", 2, "done");
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition(restores, "r"), "True Available Restore completed successfully");
});
