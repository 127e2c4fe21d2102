import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateHostile } from "./simulate-hostile.ts";

const from = 1;
const to = 20;
/** A creation whose answer was lost took no place, so one copy too many came down. */
const found = [1101];
const seeds = [...Array.from({ length: to - from + 1 }, (_, index) => from + index), ...found];

for (const seed of seeds) {
  test(`seed ${seed}: a hostile provider gets nothing and writes nothing outside of bound kinds and claims`, async () => {
    const { broken } = await simulateHostile(seed);
    assert.deepEqual(broken, [], `replay with: npm run faults -- --hostile --seed ${seed} --story`);
  });
}
