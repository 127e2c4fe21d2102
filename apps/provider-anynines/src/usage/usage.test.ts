/** Whatever faults and crashes come, the ledger says of each plan how long the broker really had instances of it. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { serviceInstances, usageAnnotation } from "@klutch/api";
import { provisionAnewAnnotation } from "../operations/loss.ts";
import { ledgerSums, testLives } from "../testing/usage-lives.ts";
import { startUsageProvider, usedInstance } from "../testing/usage-provider.ts";

const hour = 3_600_000;
const minute = 60_000;

testLives(100, [2, 3]);

/** An instance that lives from 1 January on. */
async function one(
  t: TestContext,
  options: Parameters<typeof startUsageProvider>[1] = {},
  spec: object = {},
) {
  const fixture = await startUsageProvider(t, { startMs: Date.UTC(2027, 0, 1), ...options });
  const { user, clock, ledgers } = fixture;
  await user.create(serviceInstances, usedInstance("one", "klutch-a-team", "tiny", spec));
  await clock.advance(10 * minute);
  return {
    ...fixture,
    seconds: async () => [...ledgerSums(await ledgers()).values()].reduce((sum, value) => sum + value, 0),
    patch: (patch: object) => user.mergePatch(serviceInstances, { name: "one" }, patch),
    delete: async () => {
      await user.delete(serviceInstances, { name: "one" });
      await clock.advance(20 * minute);
      assert.equal(await user.find(serviceInstances, { name: "one" }), undefined);
    },
  };
}

const near = (seconds: number, wanted: number, by = 60): void =>
  assert.ok(Math.abs(seconds - wanted) <= by, `${seconds} s instead of ${wanted} s`);

test("an instance that stays at the broker by its deletion policy counts until its managed resource goes", async (t) => {
  const fixture = await one(t, {}, { deletionPolicy: "Orphan" });
  await fixture.clock.advance(5 * hour);
  await fixture.delete();
  near(await fixture.seconds(), 5 * 3_600 + 600);
  assert.equal(fixture.broker.instances().length, 1);
});

test("an instance that the broker lost counts until the provider first missed it, and its successor from its own beginning", async (t) => {
  const fixture = await one(t);
  const [first = ""] = fixture.broker.instances();
  fixture.broker.lose(first);
  await fixture.clock.advance(10 * hour);
  await fixture.patch({ metadata: { annotations: { [provisionAnewAnnotation]: first } } });
  await fixture.clock.advance(2 * hour);
  await fixture.delete();
  // At rest the broker is asked every half hour, and up to a fifth later.
  near(await fixture.seconds(), 2 * 3_600 + 1_800, 2_400);
});

test("an instance whose finalizers a person took away counts until then, once", async (t) => {
  const fixture = await one(t);
  await fixture.clock.advance(5 * hour);
  await fixture.patch({ metadata: { finalizers: null } });
  await fixture.user.delete(serviceInstances, { name: "one" });
  assert.equal(await fixture.user.find(serviceInstances, { name: "one" }), undefined);
  // Other instances let the ledger forget the UID; the broker is asked for the instance every ten minutes.
  for (let number = 0; number < 5; number++) {
    await fixture.clock.advance(20 * minute);
    await fixture.user.create(serviceInstances, usedInstance("other", "klutch-a-team", "large"));
    await fixture.clock.advance(10 * minute);
    await fixture.user.delete(serviceInstances, { name: "other" });
    await fixture.clock.advance(minute);
  }
  near(ledgerSums(await fixture.ledgers()).get("klutch-a-team 2027-01 tiny") ?? 0, 5 * 3_600 + 600);
  assert.equal(fixture.broker.instances().length, 1);
});

test("a clock that is set back makes an interval shorter, never negative, and no time counts twice", async (t) => {
  const fixture = await one(t);
  await fixture.clock.advance(5 * hour);
  fixture.clock.skew(-100 * hour);
  await fixture.delete();
  assert.equal(await fixture.seconds(), 0);
});

test("a usage that was damaged or forged does not count more than the status says", async (t) => {
  for (const forged of [
    "{",
    '{"closed":[{"service":"s","plan":"p","config":"c","month":"2027-01","seconds":9e15}]}',
    '{"closed":[{"service":"s","plan":"p","config":"c","month":"2027-01","seconds":-5}]}',
    '{"closed":[],"open":{"service":"s","plan":"p","config":"c","from":"0001-01-01T00:00:00Z"}}',
  ]) {
    const fixture = await one(t);
    await fixture.patch({ metadata: { annotations: { [usageAnnotation]: forged } } });
    await fixture.clock.advance(hour);
    await fixture.delete();
    near(await fixture.seconds(), 3_600 + 600);
  }
});

test("an instance of an earlier release, without a record, counts from when it was provisioned", async (t) => {
  const fixture = await one(t);
  await fixture.patch({ metadata: { annotations: { [usageAnnotation]: null } } });
  await fixture.clock.advance(hour);
  await fixture.patch({ spec: { forProvider: { planName: "large" } } });
  await fixture.clock.advance(hour);
  await fixture.delete();
  const sums = ledgerSums(await fixture.ledgers());
  near(sums.get("klutch-a-team 2027-01 large") ?? 0, 3_600);
  near(await fixture.seconds(), 2 * 3_600 + 600);
});

test("an instance that an earlier release began to make counts from when the broker has made it", async (t) => {
  let polled = 0;
  for (let seed = 1; seed <= 8; seed++) {
    const { user, clock, ledgers, broker } = await startUsageProvider(t, { seed });
    await user.create(serviceInstances, usedInstance("one", "klutch-a-team", "tiny"));
    await clock.advance(2_000);
    if (broker.intervals.length > 0) continue;
    const annotations = { [usageAnnotation]: null };
    await user.mergePatch(serviceInstances, { name: "one" }, { metadata: { annotations } });
    await clock.advance(hour);
    if (broker.intervals.length === 0) continue;
    polled++;
    await user.delete(serviceInstances, { name: "one" });
    await clock.advance(10 * minute);
    const [[plan, seconds] = ["", 0]] = ledgerSums(await ledgers());
    assert.match(plan, / tiny$/);
    near(seconds, 3_600);
  }
  assert.ok(polled > 0);
});

test("a control plane without ledgers lets instances go, and the log says that nothing is counted", async (t) => {
  const fixture = await one(t, { hasLedgers: false });
  await fixture.delete();
  assert.match(fixture.log.join(""), /usage is not recorded/);
});

test("a ledger stays small: managed resources that are gone are forgotten", async (t) => {
  const fixture = await one(t);
  await fixture.delete();
  for (let number = 0; number < 30; number++) {
    await fixture.user.create(serviceInstances, usedInstance("one", "klutch-a-team", "tiny"));
    await fixture.clock.advance(10 * minute);
    await fixture.delete();
  }
  const [ledger, ...others] = await fixture.ledgers();
  assert.deepEqual(others, []);
  assert.equal(ledger?.spec.rows.length, 1);
  // A create that fails is no life.
  assert.equal(ledger.spec.rows[0]?.ended, fixture.broker.intervals.length);
  assert.ok(fixture.broker.intervals.length > 20);
  assert.equal(ledger.spec.recorded?.length, 1);
});
