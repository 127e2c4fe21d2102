import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeleting } from "./object.ts";

test("an object is being deleted from the moment it has a deletion timestamp, whatever its finalizers", () => {
  const deletionTimestamp = "2026-01-02T03:04:05Z";
  assert.ok(isDeleting({ metadata: { name: "a", deletionTimestamp, finalizers: ["x"] } }));
  assert.ok(!isDeleting({ metadata: { name: "a", finalizers: ["x"] } }));
  assert.ok(!isDeleting({ metadata: {} }));
});
