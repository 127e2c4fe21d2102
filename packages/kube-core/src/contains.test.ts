import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { contains, containsEqualLists } from "./contains.ts";
import { isRecord } from "./is-record.ts";
import { jsonEqual } from "./json-equal.ts";

const json = (): fc.Arbitrary<unknown> => fc.jsonValue({ maxDepth: 4 }).map(wire);
const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("two values are equal when each contains the other", () => {
  fc.assert(
    fc.property(json(), json(), (left, right) => {
      assert.equal(jsonEqual(left, right), contains(left, right) && contains(right, left));
      assert.equal(
        jsonEqual(left, right),
        containsEqualLists(left, right) && containsEqualLists(right, left),
      );
      assert.ok(contains(left, wire(left)));
    }),
  );
});

test("an object with equal lists is contained", () => {
  fc.assert(
    fc.property(json(), json(), (observed, wanted) => {
      if (containsEqualLists(observed, wanted)) assert.ok(contains(observed, wanted));
    }),
  );
});

/** The value with one field more in every object outside of lists. */
function widened(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).map(([key, field]) => [key, widened(field)] as const);
  return Object.fromEntries([...fields, ["another writer's", 1]]);
}

test("fields of other writers do not count", () => {
  fc.assert(
    fc.property(json(), (wanted) => {
      assert.ok(contains(widened(wanted), wanted));
      assert.ok(containsEqualLists(widened(wanted), wanted));
    }),
  );
  assert.ok(contains({ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 } }));
  assert.ok(!contains({ b: { c: 2 } }, { a: 1, b: { c: 2, d: 3 } }));
});

test("a list that is longer or shorter is another list", () => {
  assert.ok(!contains({ a: [1, 2] }, { a: [1] }));
  assert.ok(!contains({ a: [1] }, { a: [1, 2] }));
  assert.ok(!contains({ a: { 0: 1 } }, { a: [1] }));
});

test("an item with a field more counts as the wanted one only where lists need not be equal", () => {
  const observed = { rules: [{ verbs: ["get"], resourceNames: ["one"] }] };
  const wanted = { rules: [{ verbs: ["get"] }] };
  assert.ok(contains(observed, wanted));
  assert.ok(!containsEqualLists(observed, wanted));
  assert.ok(containsEqualLists(observed, { rules: [{ resourceNames: ["one"], verbs: ["get"] }] }));
});

test("a field that is undefined is not wanted; null is a value", () => {
  assert.ok(contains({}, { a: undefined }));
  assert.ok(contains(undefined, undefined));
  assert.ok(!contains({}, { a: null }));
  assert.ok(contains({ a: null }, { a: null }));
});

test("keys that exist on every object's prototype are looked up as data", () => {
  const hostile = JSON.parse('{"__proto__": {}, "constructor": 1}') as unknown;
  assert.ok(!contains({}, hostile));
  assert.ok(!containsEqualLists({}, hostile));
  assert.ok(contains(hostile, wire(hostile)));
});
