/** Random lives of instances, whose sums in the ledger must be those of the broker's own list. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { serviceInstances, type UsageLedger } from "@klutch/api";
import { type EffectFault, effectFaults, seededRandom } from "@klutch/kube-testing";
import { naivePlanName, naivePlans } from "./naive-broker.ts";
import { startUsageProvider, usedInstance, type UsageProvider } from "./usage-provider.ts";

const hour = 3_600_000;
const namespaces = ["klutch-a-team", "klutch-b-team", "klutch-b-other"];

/** Seconds by `namespace month plan`. */
type Sums = ReadonlyMap<string, number>;

function sumsOf(entries: Iterable<readonly [key: string, seconds: number]>): Sums {
  const sums = new Map<string, number>();
  for (const [key, seconds] of entries) sums.set(key, (sums.get(key) ?? 0) + seconds);
  return new Map([...sums].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Seconds by namespace, month and plan that the ledgers say. */
export const ledgerSums = (ledgers: readonly UsageLedger[]): Sums =>
  sumsOf(
    ledgers.flatMap(({ spec }) =>
      spec.rows.map((row) => [`${spec.namespace} ${row.month} ${row.plan}`, row.seconds] as const),
    ),
  );

/** The broker's list, hour by hour. */
function naiveSums({ broker }: UsageProvider): Sums {
  return sumsOf(
    broker.intervals.flatMap(({ owner, plan, from, to = Number.NaN }) => {
      assert.ok(!Number.isNaN(to), owner);
      return Array.from({ length: (to - from) / hour }, (_, index) => {
        const month = new Date(from + index * hour).toISOString().slice(0, 7);
        return [`${owner.split("/")[0]} ${month} ${naivePlanName(plan)}`, 3_600] as const;
      });
    }),
  );
}

interface Lives {
  readonly seed: number;
  readonly count: number;
  /** Share of the effects that have a fault. */
  readonly faults: number;
}

/**
 * Lets instances live random lives, and fails if the ledger does not say of each plan how long the broker had instances of it. The wall clock
 * shows whole hours, so that broker and provider see the same times however long a retry takes. `lives`: instances that the broker had.
 */
async function live(
  t: TestContext,
  { seed, count, faults }: Lives,
): Promise<UsageProvider & { lives: number }> {
  const random = seededRandom(seed);
  const oneOf = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const plan = new Map<number, EffectFault>();
  for (let effect = 1; effect < 100_000; effect++)
    if (random() < faults) plan.set(effect, oneOf(effectFaults));
  // A month and a year end while they live.
  const startMs = Date.UTC(2026, 11, 31, 12);
  const fixture = await startUsageProvider(t, { seed, startMs, faults: plan, tickMs: hour });
  const { clock, user, broker, ledgers } = fixture;
  const alive = new Set<string>();
  for (let made = 0; made < count || alive.size > 0; ) {
    for (const name of alive) {
      const dice = random();
      if (dice < 0.2) {
        await user.delete(serviceInstances, { name });
        alive.delete(name);
      } else if (dice < 0.5)
        await user.mergePatch(
          serviceInstances,
          { name },
          { spec: { forProvider: { planName: oneOf(naivePlans) } } },
        );
    }
    for (let fresh = 0; fresh < 60 && made < count; fresh++, made++) {
      const namespace = oneOf(namespaces);
      await user.create(serviceInstances, usedInstance(`life-${made}`, namespace, oneOf(naivePlans)));
      if (random() < 0.05) await user.delete(serviceInstances, { name: `life-${made}` });
      else alive.add(`life-${made}`);
    }
    await clock.advance(hour);
  }
  await clock.advance(4 * hour);
  assert.deepEqual(broker.instances(), []);
  assert.deepEqual(await Array.fromAsync(user.listAll(serviceInstances)), []);
  assert.deepEqual(ledgerSums(await ledgers()), naiveSums(fixture));
  const used = broker.intervals.filter(({ from, to = from }) => to > from).map(({ owner }) => owner);
  return { ...fixture, lives: new Set(used).size };
}

const endedIn = (ledgers: readonly UsageLedger[]): number =>
  ledgers.flatMap(({ spec }) => spec.rows).reduce((sum, { ended }) => sum + ended, 0);

/** Registers the test of `count` lives without faults, and one of fewer lives with faults for each seed. */
export function testLives(count: number, faultySeeds: readonly number[]): void {
  void test(`after ${count} random lives the ledger has the sums of the broker's own list`, async (t) => {
    const { ledgers, lives } = await live(t, { seed: 1, count, faults: 0 });
    const all = await ledgers();
    assert.ok(lives > 0.8 * count, String(lives));
    assert.equal(endedIn(all), lives);
    assert.deepEqual(new Set(all.map(({ spec }) => spec.year)), new Set([2026, 2027]));
  });

  for (const seed of faultySeeds) {
    void test(`so it does with crashes, refusals and lost answers at every tenth write or call (seed ${seed})`, async (t) => {
      const { ledgers, lives } = await live(t, { seed, count: 80, faults: 0.1 });
      assert.equal(endedIn(await ledgers()), lives);
    });
  }
}
