import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, fleetKind } from "./kinds.ts";
import { countsText } from "./misbehaving.ts";

test("answers are told by their status, and a request without one as such", () => {
  const counts = new Map([
    [429, 3],
    [0, 1],
    [200, 2],
  ]);
  assert.equal(countsText(counts), "none: 1, 200: 2, 429: 3");
});

test("a kind with a further field differs from the same kind in that field only", () => {
  const [before, after] = [fleetKind(0), fleetKind(0, "added")].map(({ crd }) => fieldsOf({ ...crd }));
  assert.deepEqual(new Set(after).difference(new Set(before)), new Set(["added"]));
  assert.ok(before?.includes("spec"));
});
