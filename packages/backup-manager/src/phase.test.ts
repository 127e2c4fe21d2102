import assert from "node:assert/strict";
import { test } from "node:test";
import { isFinal, phaseOf } from "./phase.ts";

const states: readonly (readonly [string, string, boolean])[] = [
  ["queued", "InProgress", false],
  ["running", "InProgress", false],
  ["done", "Succeeded", true],
  ["failed", "Failed", true],
  ["deleted", "Deleted", true],
  ["verifying", "Unknown", false],
  ["Done", "Unknown", false],
  ["", "Unknown", false],
  ["constructor", "Unknown", false],
  ["__proto__", "Unknown", false],
];
for (const [state, phase, final] of states) {
  test(`the state ${JSON.stringify(state)} is the phase ${phase}, ${final ? "an end" : "not an end"}`, () => {
    assert.equal(phaseOf(state), phase);
    assert.equal(isFinal(phaseOf(state)), final);
  });
}
