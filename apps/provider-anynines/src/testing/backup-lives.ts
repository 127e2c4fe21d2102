/** Lives of backups and restores, and faults at their effects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type EffectFault, Effects } from "@klutch/kube-testing";
import fc from "fast-check";
import { BackupFixture } from "./backup-fixture.ts";
import { faultPlans, type FaultsAt } from "./fault-plans.ts";
import { bothScopes, type TestKinds } from "./kinds.ts";

/** Virtual time in which everything must be settled after one fault, retries and polls included. */
const usualMs = 600_000;
/** After many: five faults in a row at one step make its waits longer than ten minutes. */
const afterManyMs = 1_200_000;

/** Backup, lost rows, restore, new rows, and the end of all. Checks what must be so after each phase. */
async function live(fixture: BackupFixture, enoughMs: number): Promise<void> {
  const { manager, clock } = fixture;
  const { instances, backups, restores } = fixture.types;
  await fixture.addInstance();
  fixture.start();
  await clock.advance(10_000);
  await fixture.addBackup("b");
  await clock.advance(enoughMs);
  assert.equal(await fixture.condition(backups, "b"), "True Available");
  manager.rows.set("db-id", "destroyed");
  await fixture.addRestore("r");
  await clock.advance(enoughMs);
  assert.equal(await fixture.condition(restores, "r"), "True Available Restore completed successfully");
  assert.equal(manager.rows.get("db-id"), "rows");
  manager.rows.set("db-id", "written afterwards");
  // All at once, as with a namespace.
  await fixture.delete(instances, "db");
  await fixture.delete(backups, "b");
  await fixture.delete(restores, "r");
  await clock.advance(enoughMs);
  assert.equal(await fixture.find(restores, "r"), undefined, "the restore");
  assert.equal(await fixture.find(backups, "b"), undefined, "the backup");
  assert.equal(await fixture.find(instances, "db"), undefined, "the instance");
  assert.equal(manager.rows.get("db-id"), "written afterwards");
  assert.deepEqual(
    [...manager.backups.values()].map(({ state }) => state),
    ["deleted"],
    "one backup, and nothing of it is left",
  );
  assert.equal(manager.restores.size, 1, "restores");
}

/** Settles after eleven minutes. */
const fiveInARow: ReadonlyMap<number, EffectFault> = new Map([
  [6, "crash"],
  [7, "conflict"],
  [8, "refused"],
  [14, "conflict"],
  [16, "refused"],
  [18, "lost answer"],
  [21, "conflict"],
]);

async function liveWith(
  plan: ReadonlyMap<number, EffectFault>,
  kinds: TestKinds,
  enoughMs: number = usualMs,
): Promise<BackupFixture> {
  const fixture = new BackupFixture(new Effects(plan), kinds);
  await using _ = fixture;
  await live(fixture, enoughMs);
  return fixture;
}

/** Registers the tests of both scopes; `runs` is the number of random plans of each. */
export async function testBackups(faultsAt: FaultsAt, runs: number): Promise<void> {
  // Before any test: two fixtures at once wait for each other at each step of their clocks.
  const undisturbed: (readonly [TestKinds, BackupFixture])[] = [];
  for (const kinds of bothScopes) undisturbed.push([kinds, await liveWith(new Map(), kinds)]);

  for (const [kinds, { effects }] of undisturbed) {
    void test(`${kinds.title}: each call that creates is recorded before it, and its number in one write after it`, () => {
      for (const call of ["createBackup", "createRestore"]) {
        const at = effects.log.indexOf(call);
        assert.match(effects.log[at - 1] ?? "", /^patch (Backup|Restore) metadata$/);
        assert.match(effects.log[at + 1] ?? "", /^patch (Backup|Restore) metadata$/);
        assert.equal(effects.log.lastIndexOf(call), at);
      }
    });

    for (const [index, what] of effects.log.entries()) {
      void test(`${kinds.title}: any fault at effect ${index + 1}, ${what}, makes nothing twice and leaves nothing`, async () => {
        // The scopes share all code but names and namespaces.
        for (const fault of faultsAt(index, kinds === bothScopes[0])) {
          const fixture = await liveWith(new Map([[index + 1, fault]]), kinds);
          assert.equal(fixture.effects.log[index], what, fault);
          assert.equal(fixture.starts, fault === "crash" ? 2 : 1, fault);
        }
      });
    }

    void test(`${kinds.title}: many faults in any order make nothing twice and leave nothing`, async () => {
      await fc.assert(
        fc.asyncProperty(faultPlans(40), async (plan) => {
          await liveWith(plan, kinds, afterManyMs);
        }),
        { numRuns: runs, examples: [[fiveInARow]] },
      );
    });
  }
}
