import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults, namesOf, sizesOf } from "./case.ts";

test("without arguments everything is measured in full size with our own agent", () => {
  const { claims, burst, largeClaims } = sizesOf(defaults);
  assert.deepEqual(
    [defaults.agent, defaults.runs, namesOf(defaults).length, claims, burst, largeClaims],
    ["", 5, 12, 10_000, 300, 1000],
  );
});

test("a small size makes the other numbers smaller, too", () => {
  const sizes = sizesOf({ ...defaults, size: 50 });
  assert.deepEqual([sizes.burst, sizes.fewClaims, sizes.claims, sizes.largeClaims], [50, 50, 50, 5]);
});

test("unknown cases are refused", () => {
  assert.throws(() => namesOf({ only: "burst,speed" }), /not "speed"/);
});
