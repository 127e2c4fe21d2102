import assert from "node:assert/strict";
import { test } from "node:test";
import { endedIn, live } from "../testing/usage-lives.ts";

test("after 1,000 random lives the ledger has the sums of the broker's own list", async (t) => {
  const { ledgers, lives } = await live(t, { seed: 1, count: 1_000, faults: 0 });
  const all = await ledgers();
  assert.ok(lives > 800, String(lives));
  assert.equal(endedIn(all), lives);
  assert.deepEqual(new Set(all.map(({ spec }) => spec.year)), new Set([2026, 2027]));
});

for (let seed = 2; seed <= 11; seed++) {
  test(`so it does with crashes, refusals and lost answers at every tenth write or call (seed ${seed})`, async (t) => {
    const { ledgers, lives } = await live(t, { seed, count: 80, faults: 0.1 });
    assert.equal(endedIn(await ledgers()), lives);
  });
}
