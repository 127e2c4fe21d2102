import assert from "node:assert/strict";
import { test } from "node:test";
import { percentiles } from "./statistics.ts";

test("percentiles are nearest ranks of the sorted sample", () => {
  const sample = Array.from({ length: 200 }, (_, index) => 200 - index);
  assert.deepEqual(percentiles(sample), { count: 200, p50: 100, p90: 180, p99: 198, max: 200 });
});

test("the percentiles of one value are that value, and of none an error", () => {
  assert.deepEqual(percentiles([7]), { count: 1, p50: 7, p90: 7, p99: 7, max: 7 });
  assert.throws(() => percentiles([]), /empty sample/);
});
