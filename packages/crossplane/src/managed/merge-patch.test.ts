import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isRecord } from "@klutch/kube-core";
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

/** Applies a merge patch as an API server does (RFC 7386). */
function applied(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, applied(result.get(name), value));
  }
  return Object.fromEntries(result);
}

/** Without fields that are null: to a merge patch they are not there. */
function withoutNulls(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}

const name = fc.constantFrom("a", "b", "toString", "__proto__");
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, 1, "x"),
    fc.array(fc.integer({ max: 2 }), { maxLength: 2 }),
    fc.dictionary(name, tie("json"), { maxKeys: 3 }),
  ),
}));
const object = fc.dictionary(name, json, { maxKeys: 3 });

test("the patch turns one object into the other", () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      const stored = withoutNulls(before);
      assert.ok(isRecord(stored));
      const patch = mergePatchOf(stored, after);
      const result = patch === undefined ? stored : applied(stored, patch);
      assert.deepEqual(result, withoutNulls(after));
    }),
    { numRuns: 1_000 },
  );
});
