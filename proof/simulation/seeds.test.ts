import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "./simulate.ts";

// `npm run test:long` runs thousands of others.
const from = 1;
const to = 5;

for (let seed = from; seed <= to; seed++) {
  test(`seed ${seed}: all promises hold under faults and come true after them`, async () => {
    const { broken } = await simulate(seed);
    assert.deepEqual(broken, [], `replay with: npm run faults -- --seed ${seed} --story`);
  });
}
