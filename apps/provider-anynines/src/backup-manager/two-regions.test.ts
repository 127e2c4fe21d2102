/** Two backup managers of one service: each keeps the backups of its region, gives numbers of its own, and may claim those of the other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, claimKindAnnotation, instanceTypeLabel, regionLabel, restores } from "@klutch/api";
import { BackupFixture } from "../testing/backup-fixture.ts";
import { MemoryManager, refusal } from "../testing/memory-manager.ts";

const minute = 60_000;
const farConfig = "any-name";
const labelsOf = (region: string) => ({ [instanceTypeLabel]: "postgresql", [regionLabel]: region });
const composed = { [claimKindAnnotation]: "anynines.com/v1/Backup" };
/** As the composition function makes what belongs to an instance of either region. */
const near = { labels: labelsOf("eu-1"), annotations: composed };
const far = {
  labels: labelsOf("eu-2"),
  annotations: composed,
  spec: { providerConfigRef: { name: farConfig }, forProvider: { instanceName: "far" } },
};
const restoreFar = {
  ...far,
  spec: { ...far.spec, forProvider: { backupName: "b-far", instanceName: "far" } },
};

/** An instance in either region, and the backup manager of the second one. */
async function start(): Promise<{ readonly fixture: BackupFixture; readonly there: MemoryManager }> {
  const fixture = new BackupFixture();
  const there = new MemoryManager(fixture.clock);
  fixture.managers.set(
    farConfig,
    there.client((_what, run) => run()),
  );
  await fixture.addInstance("db", "near-id", near);
  await fixture.addInstance("far", "far-id", far);
  fixture.manager.rows.delete("far-id");
  there.rows.set("far-id", "rows of far");
  fixture.start();
  return { fixture, there };
}

const idsIn = (kept: ReadonlyMap<number, { readonly instanceId: string }>): readonly string[] => [
  ...new Set([...kept.values()].map(({ instanceId }) => instanceId)),
];

test("backups and restores of two regions go to their own managers, also when both give the same numbers", async () => {
  const { fixture, there } = await start();
  await using _ = fixture;
  const { clock, manager } = fixture;
  await fixture.addBackup("b", near);
  await fixture.addBackup("b-far", far);
  await clock.advance(2 * minute);
  for (const name of ["b", "b-far"])
    assert.equal(await fixture.condition(backups, name), "True Available", name);
  assert.deepEqual([[...manager.backups.keys()], [...there.backups.keys()]], [[1], [1]]);
  manager.rows.set("near-id", "destroyed");
  there.rows.set("far-id", "destroyed");
  await fixture.addRestore("r-far", restoreFar);
  await clock.advance(2 * minute);
  assert.match(await fixture.condition(restores, "r-far"), /^True Available/);
  assert.equal(there.rows.get("far-id"), "rows of far");
  assert.equal(manager.rows.get("near-id"), "destroyed", "the other region is untouched");
  await fixture.addRestore("r", near);
  await clock.advance(2 * minute);
  assert.match(await fixture.condition(restores, "r"), /^True Available/);
  assert.equal(manager.rows.get("near-id"), "rows");
  for (const [kept, id] of [
    [manager, "near-id"],
    [there, "far-id"],
  ] as const)
    assert.deepEqual([idsIn(kept.backups), idsIn(kept.restores)], [[id], [id]]);
});

test("while a region's manager does not answer, that of another region that claims its backups gets no call", async () => {
  const { fixture, there } = await start();
  await using _ = fixture;
  const { clock, manager } = fixture;
  // It tells of finished backups of the other region's instance, with newer numbers.
  manager.rows.set("far-id", "lies");
  for (let number = 1; number <= 3; number++) manager.makeBackup("far-id");
  for (const call of ["createBackup", "listBackups", "getBackup"] as const)
    there.refusals.set(call, refusal(call, 503, "Down", "Later."));
  await clock.advance(minute);
  await fixture.addBackup("b-far", far);
  await fixture.addRestore("r-far", restoreFar);
  await clock.advance(10 * minute);
  assert.match(await fixture.condition(backups, "b-far", "Synced"), /^False .*HTTP 503.*Down: Later/);
  assert.match(await fixture.condition(restores, "r-far", "Synced"), /the backup b-far is not ready/);
  there.refusals.clear();
  await clock.advance(15 * minute);
  assert.equal(await fixture.condition(backups, "b-far"), "True Available");
  assert.match(await fixture.condition(restores, "r-far"), /^True Available/);
  assert.equal(there.rows.get("far-id"), "rows of far");
  assert.deepEqual(manager.asked, []);
  assert.equal(manager.restores.size, 0);
});

test("a restore at the manager of another region is refused with both names, or waits for its own, and changes nothing", async () => {
  const { fixture, there } = await start();
  await using _ = fixture;
  const { clock, manager } = fixture;
  await fixture.addBackup("b-far", far);
  await clock.advance(2 * minute);
  // The other region has a backup of that number, and claims that it is of this instance.
  manager.rows.set("far-id", "lies");
  manager.makeBackup("far-id");
  const { forProvider } = restoreFar.spec;
  await fixture.addRestore("lost", { ...near, forProvider });
  await fixture.addRestore("wrong", { labels: far.labels, forProvider });
  await clock.advance(minute);
  assert.match(
    await fixture.condition(restores, "lost", "Synced"),
    /the backup b-far is in the region eu-2; the Restore goes there within a minute/,
  );
  assert.match(
    await fixture.condition(restores, "wrong", "Synced"),
    /^False Refused .*the restore names the ProviderConfig postgresql-backup-manager, but its backup is at the ProviderConfig any-name; create it again/,
  );
  assert.deepEqual([manager.restores.size, there.restores.size], [0, 0]);
});

test("a manager that does not know an instance of its region is quoted, and no other one is asked", async () => {
  const { fixture, there } = await start();
  await using _ = fixture;
  fixture.manager.rows.set("far-id", "lies");
  there.refusals.set("createBackup", refusal("createBackup", 404, "NotFound", "No such instance."));
  await fixture.addBackup("b-far", far);
  await fixture.clock.advance(5 * minute);
  assert.match(await fixture.condition(backups, "b-far", "Synced"), /^False .*No such instance/);
  assert.deepEqual(fixture.manager.asked, []);
});
