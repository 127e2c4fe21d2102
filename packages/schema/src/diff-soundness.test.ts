import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { breakingChanges } from "./diff.ts";
import { prunedFields } from "./prune.ts";
import type { JsonSchema } from "./schema.ts";
import { problemsOf } from "./validate.ts";

/** Few names and few values, so that schemas and values meet often. */
const name = fc.constantFrom("a", "b");
const scalar = fc.constantFrom<unknown>(null, true, 0, 1, 2, 0.5, "", "a", "bb", "ccc");
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 2 }),
  ),
}));

/** At most two keywords; those that do not fit the type are to be ignored. */
const bound = (low: number, high: number): fc.Arbitrary<number> => fc.integer({ min: low, max: high });
const keyword: fc.Arbitrary<JsonSchema> = fc.oneof(
  fc.record({ nullable: fc.boolean() }),
  fc.record({ enum: fc.uniqueArray(scalar, { minLength: 3, maxLength: 9 }) }),
  fc.record({ minimum: bound(0, 2) }),
  fc.record({ maximum: bound(0, 2) }),
  fc.record({ minLength: bound(0, 2) }),
  fc.record({ maxLength: bound(0, 3) }),
  fc.record({ minItems: bound(0, 2) }),
  fc.record({ maxItems: bound(0, 3) }),
  fc.record({ minProperties: bound(0, 2) }),
  fc.record({ maxProperties: bound(0, 2) }),
  fc.record({ default: scalar }),
  fc.record({ type: fc.constantFrom("string", "integer", "number") }),
  fc.record({ type: fc.constant(undefined), "x-kubernetes-int-or-string": fc.constant(true) }),
  fc.record({ "x-kubernetes-list-type": fc.constantFrom("set", "atomic") }),
  fc.record({ "x-kubernetes-preserve-unknown-fields": fc.boolean() }),
);
const some = fc.oneof(fc.constant<JsonSchema>({}), keyword);
const common = fc.tuple(some, some).map(([one, two]): JsonSchema => ({ ...one, ...two }));
const listType = fc.constantFrom(
  {},
  { "x-kubernetes-list-type": "set" },
  { "x-kubernetes-list-type": "atomic" },
  {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a"],
  },
);
const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc
    .tuple(
      fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<JsonSchema>(
          { type: "string" },
          { type: "integer" },
          { type: "number" },
          { type: "boolean" },
          { "x-kubernetes-int-or-string": true },
          { "x-kubernetes-preserve-unknown-fields": true },
          { type: "object" },
          { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        ),
        fc
          .tuple(tie("schema"), listType)
          .map(([items, more]): JsonSchema => ({ type: "array", items, ...more })),
        tie("schema").map((additionalProperties): JsonSchema => ({ type: "object", additionalProperties })),
        fc
          .tuple(
            fc.dictionary(name, tie("schema"), { noNullPrototype: true }),
            fc.subarray(["a", "b"]),
            fc.boolean(),
          )
          .map(
            ([properties, required, open]): JsonSchema => ({
              type: "object",
              properties,
              required,
              ...(open ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
            }),
          ),
      ),
      common,
    )
    .map(([base, more]): JsonSchema => ({ ...base, ...more })),
}));

/** Like the first schema, with some of its keywords and parts taken from the second, or left out. */
function mixed(first: JsonSchema, second: JsonSchema, picks: Iterator<number>): JsonSchema {
  const result: Record<string, unknown> = {};
  for (const keyword of new Set([...Object.keys(first), ...Object.keys(second)])) {
    const own = first[keyword];
    const other = second[keyword];
    const pick = Number(picks.next().value ?? 0);
    // A schema without a type is no structural one.
    const chosen = pick === 1 ? other : pick === 2 && keyword !== "type" ? undefined : own;
    if (isSchema(own) && isSchema(other) && keyword !== "default") result[keyword] = mixed(own, other, picks);
    else if (chosen !== undefined) result[keyword] = chosen;
  }
  return result;
}

function isSchema(part: unknown): part is JsonSchema {
  return typeof part === "object" && part !== null && !Array.isArray(part);
}

test("a change that is called harmless refuses no value and drops no field of any schema", () => {
  let harmless = 0;
  fc.assert(
    fc.property(
      schema,
      fc.oneof(schema, common),
      common,
      fc.array(fc.constantFrom(0, 0, 1, 2), { maxLength: 30 }),
      fc.array(value, { minLength: 20, maxLength: 40 }),
      (before, other, more, picks, values) => {
        const after = { ...mixed(before, other, picks.values()), ...more };
        if (breakingChanges(before, after).length > 0) return;
        for (const one of values) {
          // Stored values were checked and pruned by the old schema.
          if (problemsOf(before, one).length > 0 || prunedFields(before, one).length > 0) continue;
          harmless++;
          assert.deepEqual(problemsOf(after, one), [], JSON.stringify({ before, after, one }));
          assert.deepEqual(prunedFields(after, one), [], JSON.stringify({ before, after, one }));
        }
      },
    ),
    { numRuns: 5_000 },
  );
  assert.ok(harmless > 2_500, `only ${harmless} values were compared`);
});
