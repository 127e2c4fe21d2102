import assert from "node:assert/strict";
import { test } from "node:test";
import { inUnit } from "./dashboard-picture.ts";

test("values are written in the units of the panels, in the size that people read", () => {
  for (const [value, unit, text] of [
    [0, "none", "0"],
    [41.6, "none", "42"],
    [0.0123, "s", "12.3 ms"],
    [90, "s", "1.5 min"],
    [-7_200, "s", "-2 h"],
    [3 * 2 ** 20, "bytes", "3 MiB"],
    [0, "bytes", "0 B"],
    [0.256, "percentunit", "25.6 %"],
    [1.25, "cpm", "1.25 /min"],
    [Number.NaN, "s", "–"],
  ] as const)
    assert.equal(inUnit(value, unit), text);
});
