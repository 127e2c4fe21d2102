import assert from "node:assert/strict";
import { test } from "node:test";
import { rateOf } from "./wire-log.ts";

test("a rate counts what lies in its time, by seconds and by tenths", () => {
  const times = [999, 1_000, 1_050, 1_990, 2_000, 4_000];
  assert.deepEqual(rateOf(times, 1_000, 3), { total: 4, mostInSecond: 3, mostInTenth: 2 });
  assert.deepEqual(rateOf([], 1_000, 3), { total: 0, mostInSecond: 0, mostInTenth: 0 });
});
