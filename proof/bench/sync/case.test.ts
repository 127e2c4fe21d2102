import assert from "node:assert/strict";
import { test } from "node:test";
import { optionsOf } from "@klutch/kube-testing";
import { defaults, namesOf, sizesOf } from "./case.ts";

test("without arguments everything is measured in full size with our own agent", () => {
  const { claims, burst, largeClaims } = sizesOf(defaults);
  assert.deepEqual(
    [defaults.agent, defaults.runs, namesOf(defaults).length, claims, burst, largeClaims],
    ["", 5, 13, 10_000, 300, 1000],
  );
});

test("a small size makes the other numbers smaller, too", () => {
  const sizes = sizesOf({ ...defaults, size: 50 });
  assert.deepEqual([sizes.burst, sizes.fewClaims, sizes.claims, sizes.largeClaims], [50, 50, 50, 5]);
});

test("cases are named as words, too", () => {
  const args = ["--", "timeline", "--only", "floor", "burst"];
  assert.equal(optionsOf(defaults, args, "only").only, "floor,timeline,burst");
  assert.throws(() => optionsOf(defaults, ["timeline"]), /Unexpected argument/);
});

test("unknown cases are refused", () => {
  assert.throws(() => namesOf({ only: "burst,speed" }), /not "speed"/);
});
