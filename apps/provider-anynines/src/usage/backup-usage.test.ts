/** The ledger says how long a backup manager really kept backups, and how large they were, whatever it tells of their sizes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { backups, type LedgerRow, usageAnnotation, type UsageLedger, usageLedgers } from "@klutch/api";
import { recordAt } from "@klutch/kube-core";
import { type EffectFault, effectFaults, Effects, seededRandom } from "@klutch/kube-testing";
import { BackupFixture } from "../testing/backup-fixture.ts";

const minute = 60_000;
const hour = 60 * minute;

async function start(faults: ReadonlyMap<number, EffectFault> = new Map()): Promise<BackupFixture> {
  const fixture = new BackupFixture(new Effects(faults));
  fixture.manager.offMs = 0;
  await fixture.addInstance();
  fixture.start();
  await fixture.clock.advance(minute);
  return fixture;
}

async function rowsOf(fixture: BackupFixture): Promise<readonly LedgerRow[]> {
  const ledgers = await Array.fromAsync(fixture.user.listAll<UsageLedger>(usageLedgers));
  return ledgers.flatMap(({ spec }) => spec.rows);
}

/** Makes a backup and waits until it is done. */
async function made(fixture: BackupFixture, name = "b"): Promise<void> {
  await fixture.addBackup(name);
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition(backups, name), "True Available");
}

async function deleted(fixture: BackupFixture, name = "b"): Promise<void> {
  await fixture.delete(backups, name);
  await fixture.clock.advance(5 * minute);
  assert.equal(await fixture.find(backups, name), undefined);
}

const usageIn = async (fixture: BackupFixture): Promise<Readonly<Record<string, unknown>>> => {
  const { metadata } = (await fixture.find(backups, "b")) ?? {};
  const usage: unknown = JSON.parse(metadata?.annotations?.[usageAnnotation] ?? "{}");
  return recordAt(usage);
};

const seconds = (ms: number): number => Math.floor(ms / 1_000);

/** Number of backups, seconds, and bytes times seconds. */
type Sums = readonly [made: number, seconds: number, byteSeconds: bigint];

function sumOf(all: readonly Sums[]): Sums {
  const none: Sums = [0, 0, 0n];
  return all.reduce((sum, own): Sums => [sum[0] + own[0], sum[1] + own[1], sum[2] + own[2]], none);
}

/** Sums of the manager's own list. */
function kept({ manager }: BackupFixture): Sums {
  return sumOf(
    [...manager.backups.values()].map(({ id, finishedAtMs = Number.NaN }) => {
      const time = seconds(manager.deletedAtMs.get(id) ?? Number.NaN) - seconds(finishedAtMs);
      return [1, time, BigInt(time) * BigInt(manager.sizeOf(id).size ?? 0)];
    }),
  );
}

function recorded(rows: readonly LedgerRow[]): Sums {
  return sumOf(
    rows.map(({ backups: own }) => [own?.made ?? 0, own?.seconds ?? 0, BigInt(own?.byteSeconds ?? 0)]),
  );
}

/** Lets backups live random lives, at most six at once. */
async function live(
  fixture: BackupFixture,
  { seed, count }: { readonly seed: number; readonly count: number },
) {
  const random = seededRandom(seed);
  fixture.manager.sizeOf = (id) => ({ size: Math.floor(seededRandom(id)() * 2 ** 40) });
  const alive = new Set<string>();
  for (let next = 0; next < count || alive.size > 0; ) {
    for (const name of alive) {
      if (random() >= 0.4) continue;
      await fixture.delete(backups, name);
      alive.delete(name);
    }
    for (let fresh = 0; fresh < 3 && next < count && alive.size < 6; fresh++, next++) {
      await fixture.addBackup(`b-${next}`);
      alive.add(`b-${next}`);
    }
    await fixture.clock.advance(5 * minute + Math.floor(random() * 10 * minute));
  }
  await fixture.clock.advance(hour);
  assert.deepEqual(await Array.fromAsync(fixture.user.listAll(backups)), []);
}

test("after 40 random lives of backups the ledger has the sums of the backup manager's own list", async () => {
  await using fixture = await start();
  await live(fixture, { seed: 1, count: 40 });
  const rows = await rowsOf(fixture);
  assert.deepEqual(recorded(rows), kept(fixture));
  assert.deepEqual(
    rows.map(({ service, plan, config, backups: own }) => [service, plan, config, own?.unsizedSeconds]),
    [["service", "plan", "postgresql-service-broker", 0]],
  );
});

for (const seed of [2, 3]) {
  test(`with crashes, refusals and lost answers each backup is counted once, and no shorter than it was kept (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const faults = new Map<number, EffectFault>();
    for (let effect = 1; effect < 10_000; effect++)
      if (random() < 0.1)
        faults.set(effect, effectFaults[Math.floor(random() * effectFaults.length)] as EffectFault);
    await using fixture = await start(faults);
    await live(fixture, { seed, count: 8 });
    const [count, time] = recorded(await rowsOf(fixture));
    const [ofManager, least] = kept(fixture);
    assert.equal(count, ofManager);
    assert.ok(time >= least && time <= least + count * 1_200, `${time} s instead of ${least} s`);
  });
}

test("time in which the provider was away counts, and a restart writes nothing twice", async () => {
  await using fixture = await start();
  fixture.manager.sizeOf = () => ({ size: 10 });
  fixture.manager.takesMs = 30_000;
  await fixture.addBackup("b");
  await fixture.clock.advance(15_000);
  await fixture.pause();
  await fixture.clock.advance(5 * hour);
  fixture.start();
  await fixture.clock.advance(minute);
  const { from } = await usageIn(fixture);
  const { finishedAtMs = 0 } = fixture.manager.backups.get(1) ?? {};
  assert.equal(Date.parse(String(from)), seconds(finishedAtMs) * 1_000);
  await fixture.pause();
  fixture.start();
  await deleted(fixture);
  const [count, time] = recorded(await rowsOf(fixture));
  assert.equal(count, 1);
  assert.ok(time > 5 * 3_600, String(time));
});

test("a manager that tells no size has backups of an unknown size, and never of 0 bytes", async () => {
  await using fixture = await start();
  await made(fixture);
  assert.ok(!("bytes" in (await usageIn(fixture))));
  await fixture.clock.advance(hour);
  await deleted(fixture);
  const [row, ...more] = await rowsOf(fixture);
  assert.deepEqual(more, []);
  assert.ok((row?.backups?.seconds ?? 0) >= 3_600);
  assert.equal(row?.backups?.unsizedSeconds, row?.backups?.seconds);
});

test("sizes that none can be, and sizes that jump, are told and never counted", async () => {
  await using fixture = await start();
  fixture.manager.sizeOf = () => ({ size: 2 ** 53 - 1 });
  await made(fixture);
  assert.match(String((await usageIn(fixture))["fault"]), /^the size is not a whole number of bytes/);
  fixture.manager.sizeOf = () => ({ sizeIsMalformed: true });
  await fixture.clock.advance(20 * minute);
  assert.match(String((await usageIn(fixture))["fault"]), /^the size is not a whole number of bytes/);
  fixture.manager.sizeOf = () => ({ size: 10 });
  await fixture.clock.advance(20 * minute);
  const { bytes, fault } = await usageIn(fixture);
  assert.deepEqual([bytes, fault], [10, undefined]);
  let told = 10;
  fixture.manager.sizeOf = () => ({ size: (told *= 2) });
  await fixture.clock.advance(20 * minute);
  const writes = (): number => fixture.effects.log.filter((what) => what === "patch Backup metadata").length;
  const before = writes();
  await fixture.clock.advance(hour);
  assert.equal(writes(), before, "each jump is no write");
  assert.match(
    String((await usageIn(fixture))["fault"]),
    /another size than the 10 bytes that it told first/,
  );
  await deleted(fixture);
  const [row] = await rowsOf(fixture);
  assert.equal(row?.backups?.byteSeconds, String(10 * (row?.backups?.seconds ?? 0)));
});

test("a backup that its manager deleted by itself ends then, and one that comes again counts on", async () => {
  await using fixture = await start();
  await made(fixture);
  fixture.manager.setState("backups", 1, "deleted");
  await fixture.clock.advance(20 * minute);
  const { until } = await usageIn(fixture);
  assert.notEqual(until, undefined);
  await fixture.clock.advance(5 * hour);
  assert.equal((await usageIn(fixture))["until"], until);
  fixture.manager.setState("backups", 1, "done");
  await fixture.clock.advance(20 * minute);
  assert.equal((await usageIn(fixture))["until"], undefined);
});

test("a damaged annotation is written again from what the manager says", async () => {
  await using fixture = await start();
  await made(fixture);
  const before = await usageIn(fixture);
  for (const damaged of ["{", '{"bytes":-1}', null]) {
    const annotations = { [usageAnnotation]: damaged };
    await fixture.user.mergePatch(backups, { name: "b" }, { metadata: { annotations } });
    await fixture.clock.advance(20 * minute);
    assert.deepEqual(await usageIn(fixture), before);
  }
});

test("a ledger of the previous release keeps its rows, and gets those of backups", async () => {
  await using fixture = await start();
  const used = { service: "service", plan: "plan", config: "postgresql-service-broker" };
  const old = { ...used, month: "2025-12", seconds: 7, ended: 3 };
  const { clock } = fixture;
  const year = new Date(clock.now()).getUTCFullYear();
  const month = new Date(clock.now()).toISOString().slice(0, 7);
  await fixture.user.create<UsageLedger>(usageLedgers, {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "UsageLedger",
    metadata: { name: `team.${year}` },
    spec: { namespace: "team", year, rows: [old, { ...used, month, seconds: 9, ended: 1 }] },
  });
  await made(fixture);
  await deleted(fixture);
  const [first, second, ...more] = await rowsOf(fixture);
  assert.deepEqual(more, []);
  assert.deepEqual(first, old);
  assert.deepEqual([second?.seconds, second?.ended, second?.backups?.made], [9, 1, 1]);
});
