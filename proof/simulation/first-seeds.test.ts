import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "./simulate.ts";

// Half of the seeds of every run; the other half is in another file, so that they run side by side.
const from = 1;
const to = 150;

for (let seed = from; seed <= to; seed++) {
  test(`seed ${seed}: all promises hold under faults and come true after them`, async () => {
    const { broken } = await simulate(seed);
    assert.deepEqual(broken, [], `replay with: npm run faults -- --seed ${seed} --story`);
  });
}
