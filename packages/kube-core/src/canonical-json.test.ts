import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalJson } from "./canonical-json.ts";

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
