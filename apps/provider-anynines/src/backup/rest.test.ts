import assert from "node:assert/strict";
import { test } from "node:test";
import { backups } from "@klutch/api";
import { BackupFixture } from "../testing/backup-fixture.ts";

const minute = 60_000;

test("backups at rest are asked for every ten to twelve minutes, and not all at the same moment", async () => {
  await using fixture = new BackupFixture();
  await fixture.addInstance();
  const names = Array.from({ length: 10 }, (_, index) => `b-${index}`);
  for (const [index, name] of names.entries()) {
    const id = fixture.manager.makeBackup("db-id");
    assert.equal(id, index + 1);
    const annotations = {
      "anynines.crossplane.io/backup-id": `${id}`,
      "anynines.crossplane.io/instance-id": "db-id",
    };
    await fixture.addBackup(name, { annotations });
  }
  await fixture.clock.advance(minute);
  fixture.start();
  await fixture.clock.advance(minute);
  for (const name of names) assert.equal(await fixture.condition(backups, name), "True Available");
  const startedAt = fixture.clock.now();
  await fixture.clock.advance(12 * minute);
  const times = fixture.manager.asked.map(({ atMs }) => atMs).filter((atMs) => atMs > startedAt);
  assert.equal(times.length, 10);
  assert.ok(Math.min(...times) >= startedAt + 9 * minute);
  assert.ok(
    Math.max(...times) - Math.min(...times) > 30_000,
    `${Math.max(...times) - Math.min(...times)} ms`,
  );
});

test("a backup or a restore of an hour is asked for ever less often, and its end is noticed within half a minute", async () => {
  await using fixture = new BackupFixture();
  await fixture.addInstance();
  fixture.start();
  fixture.manager.takesMs = 60 * minute;
  await fixture.addBackup("b");
  await fixture.clock.advance(59 * minute);
  assert.equal(await fixture.condition(backups, "b"), "False Creating");
  const ofBackup = fixture.manager.asked.filter(({ call }) => call === "getBackup").length;
  assert.ok(ofBackup > 100 && ofBackup < 180, `asked ${ofBackup} times`);
  await fixture.clock.advance(minute + 31_000);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  await fixture.addRestore("r");
  await fixture.clock.advance(59 * minute);
  const ofRestore = fixture.manager.asked.filter(({ call }) => call === "getRestore").length;
  assert.ok(ofRestore > 100 && ofRestore < 180, `asked ${ofRestore} times`);
});
