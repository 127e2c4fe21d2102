import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parseExactJson } from "./exact-json.ts";
import { jsonEqual } from "./json-equal.ts";

const json = (): fc.Arbitrary<unknown> => fc.jsonValue({ maxDepth: 4 }).map((value) => wire(value));
const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("jsonEqual agrees with node's deep equality on JSON values", () => {
  fc.assert(
    fc.property(json(), json(), (left, right) => {
      assert.equal(jsonEqual(left, right), isDeepStrictEqual(left, right));
      assert.equal(jsonEqual(left, wire(left)), true);
    }),
  );
});

test("jsonEqual notices one changed leaf", () => {
  fc.assert(
    fc.property(json(), fc.string(), (value, key) => {
      const left = { outer: [{ [key]: value }] };
      const right = { outer: [{ [key]: { changed: value } }] };
      assert.equal(jsonEqual(left, right), false);
    }),
  );
});

test("an undefined field equals an absent one, in either operand", () => {
  assert.equal(jsonEqual({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(jsonEqual({ a: 1 }, { a: 1, b: undefined }), true);
  assert.equal(jsonEqual({ a: undefined }, { b: undefined }), true);
});

test("keys that exist on every object's prototype are compared as data", () => {
  const hostile = JSON.parse('{"__proto__": {"x": 1}, "constructor": 1}') as unknown;
  assert.equal(jsonEqual(hostile, {}), false);
  assert.equal(jsonEqual({}, hostile), false);
  assert.equal(jsonEqual({ toString: undefined }, {}), true);
  assert.equal(jsonEqual(hostile, JSON.parse('{"constructor": 1, "__proto__": {"x": 1}}')), true);
});

test("two int64 values that one double would hold are different", () => {
  const left = parseExactJson('{"n": 9007199254740993}');
  assert.equal(jsonEqual(left, parseExactJson('{"n": 9007199254740992}')), false);
  assert.equal(jsonEqual(left, parseExactJson('{"n": 9007199254740993}')), true);
});
