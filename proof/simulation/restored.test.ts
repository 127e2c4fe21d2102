import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateRestored } from "./simulate-restored.ts";

for (const seed of [1, 2]) {
  test(`seed ${seed}: after a restore of the control plane no object is made for a claim that had one, without a person's word`, async () => {
    const { broken } = await simulateRestored(seed);
    assert.deepEqual(broken, [], `replay with: npm run faults -- --restored --seed ${seed} --story`);
  });
}
