/** Three of the chains of `npm run bench:chains`; the seed decides which programs are killed when. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { planOf } from "./plan.ts";
import { killsIn, runChains } from "./run.ts";
import { startFixture } from "./fixture.ts";

const seed = 1;
const fixture = await startFixture();
after(() => fixture[Symbol.asyncDispose]());

test(`seed ${seed}: rows come back and nothing is made twice or left, however programs are killed`, async (t) => {
  const result = await runChains(fixture, planOf(seed, 3), { atOnce: 3 });
  t.diagnostic(`seed ${seed}: ${killsIn(result)} kills, ${Math.round(result.seconds)} s`);
  const { lost, double, orphaned } = result;
  assert.deepEqual({ lost, double, orphaned }, { lost: [], double: [], orphaned: [] });
  assert.ok(killsIn(result) > 0);
});
