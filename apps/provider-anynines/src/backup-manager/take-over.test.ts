import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, restores } from "@klutch/api";
import { recordAt } from "@klutch/kube-core";
import { BackupWorld } from "../testing/backup-world.ts";

const minute = 60_000;
const hour = 60 * minute;
const numberOfBackup = "anynines.crossplane.io/backup-id";
const numberOfRestore = "anynines.crossplane.io/restore-id";
const pending = "crossplane.io/external-create-pending";

/** An instance, a manager whose clock is right, and one old backup that the manager made itself. */
async function start(): Promise<BackupWorld> {
  const world = new BackupWorld();
  world.manager.offMs = 0;
  await world.addInstance();
  world.manager.makeBackup("db-id");
  await world.clock.advance(hour);
  return world;
}

/** RFC 3339, as the existing provider's runtime writes it. */
function now(world: BackupWorld): string {
  return new Date(world.clock.now()).toISOString();
}

test("backup and restore of the existing provider are observed by their numbers, and nothing is called that changes anything", async () => {
  await using world = await start();
  const { manager } = world;
  const backup = manager.makeBackup("db-id");
  await world.clock.advance(minute);
  const restore = manager.startRestore("db-id", backup);
  await world.clock.advance(minute);
  await world.addBackup("b", {
    annotations: {
      "crossplane.io/external-name": "b",
      [numberOfBackup]: String(backup),
      [pending]: now(world),
      "crossplane.io/external-create-succeeded": now(world),
    },
    forProvider: { encryption_key: "set long ago" },
  });
  await world.addRestore("r", {
    annotations: { "crossplane.io/external-name": "r", [numberOfRestore]: String(restore) },
  });
  await world.setStatus(backups, "b", { instanceId: "db-id", id: backup, status: "done" });
  await world.setStatus(restores, "r", {
    instanceId: "db-id",
    backupId: backup,
    restoreId: restore,
    state: "running",
  });
  world.start();
  await world.clock.advance(hour);
  assert.equal(await world.condition(backups, "b"), "True Available");
  assert.equal(await world.condition(restores, "r"), "True Available Restore completed successfully");
  assert.deepEqual(
    world.effects.log.filter((what) => /^(create|delete)(Backup|Restore)$/.test(what)),
    [],
  );
});

test("a pending mark without a number is looked for, and a backup younger than the object is taken", async () => {
  await using world = await start();
  await world.addBackup("b", { annotations: { [pending]: now(world) } });
  await world.setStatus(backups, "b", { instanceId: "db-id" });
  await world.clock.advance(1_000);
  const made = world.manager.makeBackup("db-id");
  world.start();
  await world.clock.advance(minute);
  assert.equal((await world.find(backups, "b"))?.metadata.annotations?.[numberOfBackup], String(made));
  assert.equal(world.manager.backups.size, 2);
});

test("a pending mark whose call came to nothing is called again after two minutes, and an older backup is not taken", async () => {
  await using world = await start();
  await world.addBackup("b", { annotations: { [pending]: now(world) } });
  await world.setStatus(backups, "b", { instanceId: "db-id" });
  world.start();
  await world.clock.advance(100_000);
  assert.equal(world.manager.backups.size, 1);
  await world.clock.advance(minute);
  assert.equal(await world.condition(backups, "b"), "True Available");
  assert.equal((await world.find(backups, "b"))?.metadata.annotations?.[numberOfBackup], "2");
});

test("a pending mark of a restore is looked for, so that no row is destroyed", async () => {
  await using world = await start();
  const { manager } = world;
  await world.addBackup("b", { annotations: { [numberOfBackup]: "1" } });
  await world.addRestore("r", { annotations: { [pending]: now(world) } });
  await world.setStatus(restores, "r", { instanceId: "db-id", backupId: 1 });
  await world.clock.advance(1_000);
  manager.startRestore("db-id", 1);
  await world.clock.advance(minute);
  manager.rows.set("db-id", "written afterwards");
  world.start();
  await world.clock.advance(hour);
  assert.equal(await world.condition(restores, "r"), "True Available Restore completed successfully");
  assert.equal(manager.rows.get("db-id"), "written afterwards");
  assert.equal(manager.restores.size, 1);
});

test("of several pending backups of one instance each gets its own", async () => {
  await using world = await start();
  for (const name of ["b", "c"]) {
    await world.addBackup(name, { annotations: { [pending]: now(world) } });
    await world.setStatus(backups, name, { instanceId: "db-id" });
  }
  await world.clock.advance(1_000);
  world.manager.makeBackup("db-id");
  world.manager.makeBackup("db-id");
  world.start();
  await world.clock.advance(hour);
  const numbers = await Promise.all(
    ["b", "c"].map(async (name) => (await world.find(backups, name))?.metadata.annotations?.[numberOfBackup]),
  );
  assert.deepEqual(new Set(numbers), new Set(["2", "3"]));
  assert.equal(world.manager.backups.size, 3);
});

test("the number of the annotation counts, not that of the status, and the others that were made are named", async () => {
  await using world = await start();
  await world.addBackup("b", { annotations: { [numberOfBackup]: "4" } });
  await world.clock.advance(1_000);
  for (let count = 0; count < 3; count++) world.manager.makeBackup("db-id");
  await world.setStatus(backups, "b", { instanceId: "db-id", id: 2, status: "deleted" });
  await world.clock.advance(minute);
  world.start();
  await world.clock.advance(hour);
  assert.equal(await world.condition(backups, "b"), "True Available");
  assert.equal(recordAt((await world.find(backups, "b"))?.status, "atProvider")["id"], 4);
  assert.deepEqual(world.notices, [
    "the backup is number 4; 2, 3 of the same instance are younger than this Backup, and nothing here looks after them",
  ]);
  assert.equal(world.effects.log.includes("createBackup"), false);
});

test("a restore that the existing provider saw end is ended, whatever the manager says now", async () => {
  await using world = await start();
  await world.addRestore("r", { annotations: { [numberOfRestore]: "7" } });
  await world.setStatus(restores, "r", { instanceId: "db-id", backupId: 1, restoreId: 7, state: "failed" });
  world.start();
  await world.clock.advance(hour);
  assert.match(await world.condition(restores, "r"), /^False Failed/);
  assert.equal(world.manager.restores.size, 0);
});
