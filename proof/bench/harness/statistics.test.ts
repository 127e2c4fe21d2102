import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTable, lowestOfEach, median, percentiles, trend } from "./statistics.ts";

test("percentiles are nearest ranks of the sorted sample", () => {
  const sample = Array.from({ length: 200 }, (_, index) => 200 - index);
  assert.deepEqual(percentiles(sample), { count: 200, p50: 100, p90: 180, p99: 198, max: 200 });
});

test("the percentiles of one value are that value, and of none an error", () => {
  assert.deepEqual(percentiles([7]), { count: 1, p50: 7, p90: 7, p99: 7, max: 7 });
  assert.throws(() => percentiles([]), /empty sample/);
});

test("the median is the middle of an odd sample and between the middle two of an even one", () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]), /empty sample/);
});

test("the trend of points on a line is its slope without error", () => {
  const line = [0, 1, 2, 3].map((x) => [x, 5 - 2 * x] as const);
  assert.deepEqual(trend(line), { slope: -2, error: 0 });
});

test("the lowest points of a sawtooth on a line are the line", () => {
  const teeth = Array.from({ length: 100 }, (_, x) => [x, 10 + x / 10 + (x % 7) * 3] as const);
  const low = lowestOfEach(teeth, 10);
  assert.equal(low.length, 10);
  assert.ok(low.every(([x]) => x % 7 === 0));
  assert.ok(Math.abs(trend(low).slope - 0.1) < 1e-9);
});

test("the error of a trend grows with the noise around the line", () => {
  const noisy = [0, 1, 2, 3, 4, 5].map((x) => [x, x + (x % 2 === 0 ? 1 : -1)] as const);
  const { slope, error } = trend(noisy);
  assert.ok(Math.abs(slope - 1) < 2 * error && error > 0.1);
  assert.throws(() => trend([[1, 1]]), /two points/);
});

test("a table is Markdown with padded columns and numbers on the right", () => {
  const table = formatTable(
    ["metric", "n"],
    [
      ["burst", "5"],
      ["initial sync", "12.5"],
    ],
  );
  assert.equal(
    table,
    [
      "| metric       |    n |",
      "| ------------ | ---: |",
      "| burst        |    5 |",
      "| initial sync | 12.5 |",
    ].join("\n"),
  );
});
