import assert from "node:assert/strict";
import { test } from "node:test";
import {
  accepts,
  anyObject,
  anyValue,
  boolean,
  customResourceDefinition,
  describeProblem,
  embedded,
  type Infer,
  integer,
  integerOrString,
  list,
  map,
  nullable,
  object,
  oneOf,
  problemsOf,
  string,
} from "./index.ts";

const database = object(
  { name: string({ minLength: 1, pattern: "^[a-z]+$" }), size: oneOf(["small", "big"]) },
  {
    replicas: integer({ minimum: 1, maximum: 3, default: 1 }),
    public: boolean(),
    users: list(object({ name: string() }, { roles: list(string(), { listType: "set" }) }), {
      listType: "map",
      mapKeys: ["name"],
    }),
    labels: map(string()),
    port: integerOrString(),
    since: nullable(string({ format: "date-time" })),
    extra: anyObject(),
  },
);
const good: Infer<typeof database> = {
  name: "orders",
  size: "small",
  replicas: 3,
  users: [{ name: "a", roles: ["r", "w"] }, { name: "b" }],
  labels: { team: "x" },
  port: "http",
  since: null,
  extra: { anything: [1, "two"] },
};
const problems = (value: unknown): readonly string[] => problemsOf(database.json, value).map(describeProblem);

test("a builder prints exactly the keywords that were asked for", () => {
  assert.deepEqual(string().json, { type: "string" });
  assert.deepEqual(list(string(), { listType: "set", maxItems: 2 }).json, {
    type: "array",
    maxItems: 2,
    items: { type: "string" },
    "x-kubernetes-list-type": "set",
  });
  assert.deepEqual(object({ a: string() }, { b: boolean({ default: false }) }).json, {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "boolean", default: false } },
    required: ["a"],
  });
  assert.deepEqual(embedded().json, {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
  });
  assert.deepEqual(anyValue({ rules: [{ rule: "self == oldSelf" }] }).json, {
    "x-kubernetes-validations": [{ rule: "self == oldSelf" }],
    "x-kubernetes-preserve-unknown-fields": true,
  });
});

test("a CRD is named after its plural and group and prints the same every time", () => {
  const print = (): unknown =>
    customResourceDefinition({
      group: "example.org",
      version: "v1",
      kind: "Database",
      plural: "databases",
      scope: "Namespaced",
      description: "A database.",
      fields: { spec: database },
    });
  assert.equal(JSON.stringify(print()), JSON.stringify(print()));
  assert.ok(JSON.stringify(print()).includes('"name":"databases.example.org"'));
});

test("a value of the schema's type has no problems, and unknown fields are none", () => {
  assert.deepEqual(problems(good), []);
  assert.deepEqual(problems({ ...good, unknown: 1 }), []);
  assert.ok(accepts(database, good));
});

const faults: readonly (readonly [string, unknown, string])[] = [
  ["a missing field", { size: "big" }, "name: is missing, expected it to be set"],
  ["a wrong type", { ...good, replicas: "3" }, 'replicas: is "3", expected an integer'],
  ["a fraction for an integer", { ...good, replicas: 1.5 }, "replicas: is 1.5, expected an integer"],
  ["a value outside the set", { ...good, size: "huge" }, 'size: is "huge", expected one of "small", "big"'],
  [
    "a text of the wrong form",
    { ...good, name: "A" },
    'name: is "A", expected a string that matches ^[a-z]+$',
  ],
  ["too large a number", { ...good, replicas: 4 }, "replicas: is 4, expected maximum 3"],
  ["no time", { ...good, since: "today" }, 'since: is "today", expected an RFC 3339 time'],
  ["null where it is not taken", { ...good, public: null }, "public: is null, expected a boolean"],
  ["a wrong value in a map", { ...good, labels: { a: 1 } }, "labels.a: is 1, expected a string"],
  [
    "a list item without its key",
    { ...good, users: [{ name: "a" }, {}] },
    "users[1].name: is missing, expected it to be set",
  ],
  [
    "two items with one key",
    { ...good, users: [{ name: "a" }, { name: "a" }] },
    'users: is [{"name":"a"},{"name":"a"}], expected items that differ in name',
  ],
  [
    "the same item twice in a set",
    { ...good, users: [{ name: "a", roles: ["r", "r"] }] },
    'users[0].roles: is ["r","r"], expected items that differ',
  ],
  [
    "a boolean for an integer or string",
    { ...good, port: true },
    "port: is true, expected an integer or string",
  ],
  ["a list for an object", [], "the value: is [], expected an object"],
  ["nothing at all", undefined, "the value: is nothing, expected an object"],
];
for (const [what, value, text] of faults) {
  test(`the validator names field, value and what was expected for ${what}`, () => {
    assert.deepEqual(problems(value), [text]);
  });
}

test("all problems are reported at once, and long values are shortened", () => {
  const texts = problems({ ...good, name: "A".repeat(100), size: "x", replicas: 0 });
  assert.equal(texts.length, 3);
  assert.ok(texts.every((text) => text.length < 130));
});
