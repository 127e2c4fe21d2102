import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, restores } from "@klutch/api";
import { hungManager } from "../testing/hung-manager.ts";
import { BackupFixture } from "../testing/backup-fixture.ts";

const spec = { providerConfigRef: { name: "hung-backup-manager" } };
const idOf = (kind: "backup" | "restore", number: number) => ({
  [`anynines.crossplane.io/${kind}-id`]: `${number}`,
  "anynines.crossplane.io/instance-id": "other-id",
});

test("a backup manager that hangs delays none of the backups and restores of another one", async () => {
  await using fixture = new BackupFixture();
  const hung = hungManager();
  fixture.managers.set(spec.providerConfigRef.name, hung);
  await fixture.addInstance();
  // More than there are workers for one backup manager.
  for (let number = 1; number <= 5; number++) {
    await fixture.addBackup(`hung-${number}`, { spec, annotations: idOf("backup", number) });
    await fixture.addRestore(`hung-${number}`, { spec, annotations: idOf("restore", number) });
  }
  fixture.start();
  await fixture.clock.advance(1_000);
  const inTwos = ["getBackup", "getBackup", "getRestore", "getRestore"];
  assert.deepEqual(hung.asked.toSorted(), inTwos);
  await fixture.addBackup("b");
  await fixture.clock.advance(20_000);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  await fixture.addRestore("r");
  await fixture.clock.advance(20_000);
  assert.match(await fixture.condition(restores, "r"), /^True Available/);
  // None of the first ones has ended, and no other one of the same manager was begun.
  assert.deepEqual(hung.asked.toSorted(), inTwos);
});
