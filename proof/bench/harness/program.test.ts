import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuTicks, parseCpuTicks, stolenPercent } from "./program.ts";

test("stolen time is the eighth number, and own guests are not counted twice", () => {
  const before = parseCpuTicks("cpu  10 0 5 80 1 0 1 3 7 0\ncpu0 10 0 5 80 1 0 1 3 7 0\n");
  assert.deepEqual(before, { all: 100, stolen: 3 });
  const after = parseCpuTicks("cpu  60 0 15 90 1 0 1 33 50 0\n");
  assert.equal(stolenPercent(before, after), 30);
  assert.equal(stolenPercent(before, before), 0);
  assert.ok(cpuTicks().all > 0);
});
