import assert from "node:assert/strict";
import { test } from "node:test";
import { planOf, programs, steps } from "./plan.ts";

test("a seed always gives the same chains and kills, and another seed gives others", () => {
  assert.deepEqual(planOf(1, 50), planOf(1, 50));
  assert.notDeepEqual(planOf(1, 50), planOf(2, 50));
});

test("fifty chains have kills of each program in each step", () => {
  const kills = planOf(1, 50).flatMap((chain) => chain.kills);
  for (const program of programs)
    for (const step of steps)
      assert.ok(
        kills.some((kill) => kill.program === program && kill.step === step),
        `${program} in ${step}`,
      );
});
