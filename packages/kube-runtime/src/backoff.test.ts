import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "@klutch/kube-testing";
import { Backoff } from "./backoff.ts";

test("of many who lost one server at the same moment not two come back together, from the first wait on", () => {
  const options = { baseMs: 800, capMs: 30_000 };
  const agents = Array.from(
    { length: 50 },
    (_, seed) => new Backoff({ ...options, random: seededRandom(seed) }),
  );
  for (const upper of [1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]) {
    const waits = agents.map((agent) => agent.next());
    assert.equal(new Set(waits).size, 50);
    assert.ok(waits.every((wait) => wait >= 800 && wait <= upper));
    const early = waits.filter((wait) => wait < (800 + upper) / 2).length;
    assert.ok(early > 10 && early < 40, `${early} of 50 in the first half`);
  }
});

test("after a success the waits are short again", () => {
  const backoff = new Backoff({ baseMs: 100, capMs: 1_000, random: () => 1 });
  assert.deepEqual([backoff.next(), backoff.next(), backoff.next()], [200, 400, 800]);
  backoff.reset();
  assert.equal(backoff.next(), 200);
});
