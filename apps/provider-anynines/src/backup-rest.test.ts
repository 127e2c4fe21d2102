import assert from "node:assert/strict";
import { test } from "node:test";
import { backups } from "@klutch/api";
import { BackupWorld } from "./testing/backup-world.ts";

const minute = 60_000;

test("backups at rest are asked for every ten to twelve minutes, and not all at the same moment", async () => {
  await using world = new BackupWorld();
  await world.addInstance();
  const names = Array.from({ length: 10 }, (_, index) => `b-${index}`);
  for (const [index, name] of names.entries()) {
    const id = world.manager.makeBackup("db-id");
    assert.equal(id, index + 1);
    const annotations = {
      "anynines.crossplane.io/backup-id": `${id}`,
      "anynines.crossplane.io/instance-id": "db-id",
    };
    await world.addBackup(name, { annotations });
  }
  await world.clock.advance(minute);
  world.start();
  await world.clock.advance(minute);
  for (const name of names) assert.equal(await world.condition(backups, name), "True Available");
  const startedAt = world.clock.now();
  await world.clock.advance(12 * minute);
  const times = world.manager.asked.map(({ atMs }) => atMs).filter((atMs) => atMs > startedAt);
  assert.equal(times.length, 10);
  assert.ok(Math.min(...times) >= startedAt + 9 * minute);
  assert.ok(
    Math.max(...times) - Math.min(...times) > 30_000,
    `${Math.max(...times) - Math.min(...times)} ms`,
  );
});
