import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseExactJson } from "./exact-json.ts";

test("a whole number beyond 2^53 survives being read and written again", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (number) => {
      const text = `{"spec":{"list":[${number}],"n":${number}}}`;
      assert.equal(JSON.stringify(parseExactJson(text)), text);
    }),
  );
});

test("small numbers, fractions and digits in strings stay ordinary values", () => {
  const text = '{"a":1,"b":0.25,"c":"12345678901234567890","d":1e21,"e":[9007199254740991]}';
  assert.deepEqual(parseExactJson(text), {
    a: 1,
    b: 0.25,
    c: "12345678901234567890",
    d: 1e21,
    e: [9007199254740991],
  });
});

test("a key named __proto__ becomes an own field and changes no prototype", () => {
  const value = parseExactJson('{"metadata":{},"__proto__":{"polluted":1},"n":12345678901234567890}');
  assert.ok(typeof value === "object" && value !== null);
  assert.ok(Object.hasOwn(value, "__proto__"));
  assert.ok(!("polluted" in value));
});

test("text that is not JSON is refused", () => {
  for (const text of ["", "<html>", '{"n":12345678901234567890,}']) {
    assert.throws(() => parseExactJson(text), SyntaxError);
  }
});
