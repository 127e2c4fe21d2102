import assert from "node:assert/strict";
import { test } from "node:test";
import { mergePatchOf } from "./merge-patch.ts";

test("a field that is not there any more is removed, at any depth", () => {
  const before = { atProvider: { parameters: { a: 1, b: 2 }, state: "failed" }, pendingOperation: "x" };
  const after = { atProvider: { parameters: { a: 1 }, state: undefined }, pendingOperation: null };
  assert.deepEqual(mergePatchOf(before, after), {
    atProvider: { parameters: { b: null }, state: null },
    pendingOperation: null,
  });
});

test("equal objects need no patch, whether a field is null, undefined or absent", () => {
  assert.equal(mergePatchOf({ a: { b: [1] }, c: undefined }, { a: { b: [1] }, d: null }), undefined);
});

test("lists and values are replaced as a whole, and only what differs is in the patch", () => {
  assert.deepEqual(mergePatchOf({ list: [1, 2], same: 1, kind: {} }, { list: [1], same: 1, kind: "x" }), {
    list: [1],
    kind: "x",
  });
});
