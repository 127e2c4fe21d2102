import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, restores } from "@klutch/api";
import { recordAt } from "@klutch/kube-core";
import { BackupFixture } from "../testing/backup-fixture.ts";

const minute = 60_000;
const hour = 60 * minute;
const numberOfBackup = "anynines.crossplane.io/backup-id";
const numberOfRestore = "anynines.crossplane.io/restore-id";
const pending = "crossplane.io/external-create-pending";

/** An instance, a manager whose clock is right, and one old backup that the manager made itself. */
async function start(): Promise<BackupFixture> {
  const fixture = new BackupFixture();
  fixture.manager.offMs = 0;
  await fixture.addInstance();
  fixture.manager.makeBackup("db-id");
  await fixture.clock.advance(hour);
  return fixture;
}

/** RFC 3339, as the existing provider's runtime writes it. */
function now(fixture: BackupFixture): string {
  return new Date(fixture.clock.now()).toISOString();
}

test("backup and restore of the existing provider are observed by their numbers, and nothing is called that changes anything", async () => {
  await using fixture = await start();
  const { manager } = fixture;
  const backup = manager.makeBackup("db-id");
  await fixture.clock.advance(minute);
  const restore = manager.startRestore("db-id", backup);
  await fixture.clock.advance(minute);
  await fixture.addBackup("b", {
    annotations: {
      "crossplane.io/external-name": "b",
      [numberOfBackup]: String(backup),
      [pending]: now(fixture),
      "crossplane.io/external-create-succeeded": now(fixture),
    },
    forProvider: { encryption_key: "set long ago" },
  });
  await fixture.addRestore("r", {
    annotations: { "crossplane.io/external-name": "r", [numberOfRestore]: String(restore) },
  });
  await fixture.setStatus(backups, "b", { instanceId: "db-id", id: backup, status: "done" });
  await fixture.setStatus(restores, "r", {
    instanceId: "db-id",
    backupId: backup,
    restoreId: restore,
    state: "running",
  });
  fixture.start();
  await fixture.clock.advance(hour);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  assert.equal(await fixture.condition(restores, "r"), "True Available Restore completed successfully");
  assert.deepEqual(
    fixture.effects.log.filter((what) => /^(create|delete)(Backup|Restore)$/.test(what)),
    [],
  );
});

test("a pending mark without a number is looked for, and a backup younger than the object is taken", async () => {
  await using fixture = await start();
  await fixture.addBackup("b", { annotations: { [pending]: now(fixture) } });
  await fixture.setStatus(backups, "b", { instanceId: "db-id" });
  await fixture.clock.advance(1_000);
  const made = fixture.manager.makeBackup("db-id");
  fixture.start();
  await fixture.clock.advance(minute);
  assert.equal((await fixture.find(backups, "b"))?.metadata.annotations?.[numberOfBackup], String(made));
  assert.equal(fixture.manager.backups.size, 2);
});

test("a pending mark whose call came to nothing is called again after two minutes, and an older backup is not taken", async () => {
  await using fixture = await start();
  await fixture.addBackup("b", { annotations: { [pending]: now(fixture) } });
  await fixture.setStatus(backups, "b", { instanceId: "db-id" });
  fixture.start();
  await fixture.clock.advance(100_000);
  assert.equal(fixture.manager.backups.size, 1);
  await fixture.clock.advance(minute);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  assert.equal((await fixture.find(backups, "b"))?.metadata.annotations?.[numberOfBackup], "2");
});

test("a pending mark of a restore is looked for, so that no row is destroyed", async () => {
  await using fixture = await start();
  const { manager } = fixture;
  await fixture.addBackup("b", { annotations: { [numberOfBackup]: "1" } });
  await fixture.addRestore("r", { annotations: { [pending]: now(fixture) } });
  await fixture.setStatus(restores, "r", { instanceId: "db-id", backupId: 1 });
  await fixture.clock.advance(1_000);
  manager.startRestore("db-id", 1);
  await fixture.clock.advance(minute);
  manager.rows.set("db-id", "written afterwards");
  fixture.start();
  await fixture.clock.advance(hour);
  assert.equal(await fixture.condition(restores, "r"), "True Available Restore completed successfully");
  assert.equal(manager.rows.get("db-id"), "written afterwards");
  assert.equal(manager.restores.size, 1);
});

test("of several pending backups of one instance each gets its own", async () => {
  await using fixture = await start();
  for (const name of ["b", "c"]) {
    await fixture.addBackup(name, { annotations: { [pending]: now(fixture) } });
    await fixture.setStatus(backups, name, { instanceId: "db-id" });
  }
  await fixture.clock.advance(1_000);
  fixture.manager.makeBackup("db-id");
  fixture.manager.makeBackup("db-id");
  fixture.start();
  await fixture.clock.advance(hour);
  const numbers = await Promise.all(
    ["b", "c"].map(
      async (name) => (await fixture.find(backups, name))?.metadata.annotations?.[numberOfBackup],
    ),
  );
  assert.deepEqual(new Set(numbers), new Set(["2", "3"]));
  assert.equal(fixture.manager.backups.size, 3);
});

test("the number of the annotation counts, not that of the status, and the others that were made are named", async () => {
  await using fixture = await start();
  await fixture.addBackup("b", { annotations: { [numberOfBackup]: "4" } });
  await fixture.clock.advance(1_000);
  for (let count = 0; count < 3; count++) fixture.manager.makeBackup("db-id");
  await fixture.setStatus(backups, "b", { instanceId: "db-id", id: 2, status: "deleted" });
  await fixture.clock.advance(minute);
  fixture.start();
  await fixture.clock.advance(hour);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  assert.equal(recordAt((await fixture.find(backups, "b"))?.status, "atProvider")["id"], 4);
  assert.deepEqual(fixture.notices, [
    "the backup is number 4; 2, 3 of the same instance are younger than this Backup, and nothing here looks after them",
  ]);
  assert.equal(fixture.effects.log.includes("createBackup"), false);
});

test("a restore that the existing provider saw end is ended, whatever the manager says now", async () => {
  await using fixture = await start();
  await fixture.addRestore("r", { annotations: { [numberOfRestore]: "7" } });
  await fixture.setStatus(restores, "r", { instanceId: "db-id", backupId: 1, restoreId: 7, state: "failed" });
  fixture.start();
  await fixture.clock.advance(hour);
  assert.match(await fixture.condition(restores, "r"), /^False Failed/);
  assert.equal(fixture.manager.restores.size, 0);
});
