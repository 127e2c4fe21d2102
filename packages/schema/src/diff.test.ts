import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { diffSchemas } from "./diff.ts";
import {
  anyObject,
  breakingChanges,
  integer,
  integerOrString,
  type JsonSchema,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  problemsOf,
  string,
} from "./index.ts";
import { viewOf } from "./view.ts";

const changes = (before: { json: JsonSchema }, after: { json: JsonSchema }): readonly string[] =>
  diffSchemas(before.json, after.json).map(
    ({ severity, field, change }) => `${severity} ${field}: ${change}`,
  );

const table: readonly (readonly [string, { json: JsonSchema }, { json: JsonSchema }, readonly string[]])[] = [
  [
    "a removed field",
    object({}, { a: string(), b: string() }),
    object({}, { a: string() }),
    ["breaking b: the field is removed"],
  ],
  ["an added field", object({}, {}), object({}, { a: string() }), ["compatible a: the field is added"]],
  [
    "a field that became required",
    object({}, { a: string() }),
    object({ a: string() }),
    ["breaking : a is now required"],
  ],
  [
    "a field that is required no longer",
    object({ a: string() }),
    object({}, { a: string() }),
    ["compatible : a is no longer required"],
  ],
  [
    "a long value by its beginning",
    oneOf([`first${"x".repeat(300)}`]),
    oneOf(["a"]),
    [`breaking : no longer takes "first${"x".repeat(193)}…`, 'compatible : also takes "a"'],
  ],
  [
    "a smaller set of values",
    oneOf(["a", "b"]),
    oneOf(["a", "c"]),
    ['breaking : no longer takes "b"', 'compatible : also takes "c"'],
  ],
  [
    "a stricter bound deep inside",
    object({}, { a: list(object({}, { b: integer({ maximum: 9 }) })) }),
    object({}, { a: list(object({}, { b: integer({ maximum: 5 }) })) }),
    ["breaking a[].b: maximum changes from 9 to 5"],
  ],
  ["a wider type", integer(), number(), ["compatible : type changes from integer to number"]],
  [
    "a type that also takes integers",
    string(),
    integerOrString(),
    ["compatible : type changes from string to integer or string"],
  ],
  ["another type", string(), integer(), ["breaking : type changes from string to integer"]],
  ["a new pattern", string(), string({ pattern: "x" }), ["breaking : pattern changes from none to x"]],
  ["null that is refused", nullable(string()), string(), ["breaking : takes null no longer"]],
  ["a new rule", string(), string({ rules: [{ rule: "self != ''" }] }), ["breaking : new rule self != ''"]],
  [
    "keys that must differ",
    list(string()),
    list(string(), { listType: "set" }),
    ["breaking : list type changes from atomic to set"],
  ],
  [
    "another default",
    string({ default: "a" }),
    string({ default: "b" }),
    ['compatible : default changes from "a" to "b"'],
  ],
  [
    "free content that gets a schema",
    anyObject(),
    object({}, { a: string() }),
    [
      "breaking : keeps unknown fields no longer",
      "breaking : takes fields of any name no longer",
      "breaking a: type changes from any to string",
    ],
  ],
  [
    "values of a map",
    map(string()),
    map(string({ maxLength: 3 })),
    ["breaking *: maxLength changes from none to 3"],
  ],
  ["another description", string({ description: "a" }), string({ description: "b" }), []],
];
for (const [what, before, after, expected] of table) {
  test(`the differ reports ${what}`, () => assert.deepEqual(changes(before, after), expected));
}

/** A schema, and values it takes. */
interface Sample {
  readonly json: JsonSchema;
  readonly value: fc.Arbitrary<unknown>;
}

const name = fc.constantFrom("a", "b", "c");
const { sample } = fc.letrec<{ sample: Sample; leaf: Sample }>((tie) => ({
  leaf: fc.oneof(
    fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 3, max: 5 })).map(
      ([minLength, maxLength]): Sample => ({
        json: string({ minLength, maxLength }).json,
        value: fc.string({ minLength, maxLength, unit: "grapheme-ascii" }),
      }),
    ),
    fc.tuple(fc.integer({ min: -5, max: 0 }), fc.integer({ min: 0, max: 5 })).map(
      ([minimum, maximum]): Sample => ({
        json: integer({ minimum, maximum }).json,
        value: fc.integer({ min: minimum, max: maximum }),
      }),
    ),
    fc.uniqueArray(name, { minLength: 1 }).map(
      (values): Sample => ({
        json: { type: "string", enum: values },
        value: fc.constantFrom(...values),
      }),
    ),
  ),
  sample: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    fc.tuple(tie("sample"), fc.boolean()).map(
      ([item, isMap]): Sample =>
        isMap
          ? {
              json: { type: "object", additionalProperties: item.json },
              value: fc.dictionary(name, item.value),
            }
          : { json: { type: "array", items: item.json }, value: fc.array(item.value, { maxLength: 3 }) },
    ),
    fc
      .dictionary(name, fc.tuple(tie("sample"), fc.boolean()), { noNullPrototype: true })
      .map((fields): Sample => {
        const entries = Object.entries(fields);
        const required = entries.filter(([, [, isRequired]]) => isRequired).map(([field]) => field);
        return {
          json: {
            type: "object",
            properties: Object.fromEntries(entries.map(([field, [inner]]) => [field, inner.json])),
            ...(required.length === 0 ? {} : { required }),
          },
          value: fc.record(Object.fromEntries(entries.map(([field, [inner]]) => [field, inner.value])), {
            requiredKeys: required,
          }),
        };
      }),
  ),
}));

test("a schema does not differ from itself, and takes the values made for it", () => {
  fc.assert(
    fc.property(
      sample.chain(({ json, value }) => fc.tuple(fc.constant(json), value)),
      ([json, value]) => {
        assert.deepEqual(diffSchemas(json, structuredClone(json)), []);
        assert.deepEqual(problemsOf(json, value), []);
      },
    ),
  );
});

/** Changes one keyword somewhere in a schema; what and where is decided by the picks. */
function edited(json: JsonSchema, picks: readonly number[]): JsonSchema {
  const [pick = 0, ...rest] = picks;
  const view = viewOf(json);
  const entries = [...view.properties];
  const inner = entries.length === 0 ? undefined : entries[pick % entries.length];
  if (inner !== undefined && pick % 3 !== 0) {
    const [field, schema] = inner;
    return { ...json, properties: { ...Object.fromEntries(entries), [field]: edited(schema, rest) } };
  }
  if (view.items !== undefined) return { ...json, items: edited(view.items, rest) };
  const { additionalProperties, limits: bounds } = view;
  if (additionalProperties !== undefined)
    return { ...json, additionalProperties: edited(additionalProperties, rest) };
  const step = (pick % 5) - 2;
  if (view.enum !== undefined) return { ...json, enum: [...view.enum.slice(pick % 2), "d"] };
  if (bounds.minLength !== undefined) return { ...json, minLength: Math.max(0, bounds.minLength + step) };
  if (bounds.maximum !== undefined)
    return pick % 2 === 0 ? { ...json, maximum: bounds.maximum + step } : { ...json, type: "number" };
  return editedObject(json, entries, pick);
}

function editedObject(
  json: JsonSchema,
  entries: readonly (readonly [string, JsonSchema])[],
  pick: number,
): JsonSchema {
  const operations: readonly (() => JsonSchema)[] = [
    () => ({ ...json, properties: Object.fromEntries([...entries, ["d", string().json]]) }),
    () => ({ ...json, properties: Object.fromEntries(entries.slice(1)), required: [] }),
    () => ({ ...json, required: [] }),
    () => ({ ...json, required: entries.map(([field]) => field) }),
    () => ({ ...json, "x-kubernetes-preserve-unknown-fields": true }),
  ];
  return operations[pick % operations.length]?.() ?? json;
}

test("without a breaking change, every value of the old schema is one of the new schema", () => {
  const seen = { breaking: 0, compatible: 0 };
  fc.assert(
    fc.property(
      fc
        .tuple(sample, fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 4 }))
        .chain(([before, picks]) =>
          fc.record({
            before: fc.constant(before.json),
            after: fc.constant(edited(before.json, picks)),
            value: before.value,
          }),
        ),
      ({ before, after, value }) => {
        if (diffSchemas(before, after).length === 0) return;
        if (breakingChanges(before, after).length > 0) {
          seen.breaking += 1;
          return;
        }
        seen.compatible += 1;
        assert.deepEqual(problemsOf(after, value), []);
      },
    ),
    { numRuns: 2000 },
  );
  assert.ok(seen.breaking > 100 && seen.compatible > 100, JSON.stringify(seen));
});

test("a new schema for a field that accepted any value may refuse stored values", () => {
  const breaking = breakingChanges({}, { properties: { a: { type: "object" } } });
  assert.equal(breaking[0]?.change, "type changes from any to object");
});
