import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateHostile } from "./simulate-hostile.ts";

const from = 1;
const to = 20;

for (let seed = from; seed <= to; seed++) {
  test(`seed ${seed}: a hostile provider gets nothing and writes nothing outside of bound kinds and claims`, async () => {
    const { broken } = await simulateHostile(seed);
    assert.deepEqual(broken, [], `replay with: npm run faults -- --hostile --seed ${seed} --story`);
  });
}
