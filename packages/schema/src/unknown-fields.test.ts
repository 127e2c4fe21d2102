import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyObject, anyValue, list, map, object, string } from "./schema.ts";
import { prunedFields } from "./prune.ts";
import { unknownFields } from "./unknown-fields.ts";
import { describeProblem, problemsOf } from "./validate.ts";

const { json } = object(
  {},
  {
    name: string(),
    items: list(object({}, { b: string(), a: string() })),
    words: map(string()),
    free: anyObject(),
    any: anyValue(),
    none: object({}),
  },
);

test("a field that the schema does not know is told with those that it knows", () => {
  const value = {
    nam: 1,
    items: [{}, { c: "x" }],
    words: { any: "" },
    free: { x: 1 },
    any: { x: 1 },
    none: { x: 1 },
  };
  assert.deepEqual(unknownFields(json, value).map(describeProblem), [
    "nam: is 1, expected one of the fields any, free, items, name, none, words",
    'items[1].c: is "x", expected one of the fields a, b',
    "none.x: is 1, expected no field here",
  ]);
});

test("the reported fields of a well-typed value are those that an API server drops", () => {
  const names = fc.constantFrom("name", "items", "words", "free", "a", "b", "c", "any", "none");
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(1, "a", null),
      fc.array(tie("value")),
      fc.dictionary(names, tie("value")),
    ),
  }));
  fc.assert(
    fc.property(value, (one) => {
      if (problemsOf(json, one).length > 0) return;
      assert.deepEqual(
        unknownFields(json, one).map(({ field }) => field),
        prunedFields(json, one),
      );
    }),
    { numRuns: 2_000 },
  );
});
