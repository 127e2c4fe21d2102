import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalJson, jsonHash } from "./canonical-json.ts";
import { parseExactJson } from "./exact-json.ts";
import { jsonEqual } from "./json-equal.ts";

test("canonical JSON is the same for equal values, whatever the order of their fields", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).toReversed());
      assert.equal(canonicalJson(reversed), canonicalJson(value));
      assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
  assert.equal(canonicalJson({ b: undefined, a: { d: 1, c: [2, 1] } }), '{"a":{"c":[2,1],"d":1}}');
});

test("text, hash and equality agree", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
      assert.equal(jsonEqual(left, right), canonicalJson(left) === canonicalJson(right));
      assert.equal(jsonEqual(left, right), jsonHash(left) === jsonHash(right));
    }),
  );
});

test("keys are sorted by their text, numbers among them, at every depth", () => {
  const value = JSON.parse('{"b":[{"z":1,"a":[]}],"9":1,"10":2,"B":null}') as unknown;
  assert.equal(canonicalJson(value), '{"10":2,"9":1,"B":null,"b":[{"a":[],"z":1}]}');
});

test("a whole number beyond 2^53 is written with its digits", () => {
  const text = '{"a":{"n":9223372036854775807},"b":1}';
  assert.equal(canonicalJson(parseExactJson(text)), text);
  assert.equal(canonicalJson(parseExactJson('{"b":1,"a":{"n":9223372036854775807}}')), text);
});

test("what JSON does not have is written as JSON writes it", () => {
  assert.equal(canonicalJson(undefined), "null");
  assert.equal(canonicalJson([undefined, { b: 1, a: undefined }]), '[null,{"b":1}]');
  assert.equal(canonicalJson('a"b'), '"a\\"b"');
});

test("hashes that are stored on objects stay what they are", () => {
  assert.equal(jsonHash({ b: [1, { d: "x", c: null }], a: true }), "EOoR20KI051nSV8r-Noop8");
  assert.equal(jsonHash(undefined), jsonHash(null));
});
