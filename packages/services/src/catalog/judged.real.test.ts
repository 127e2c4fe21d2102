/**
 * Holds the claims of a generated table against the JSON Schema that it was made of: a real API server and a plain judge must agree
 * about every value.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePlacedYaml } from "@klutch/kube";
import fc from "fast-check";
import { claimResource } from "../data-service.ts";
import { generations } from "../generation.ts";
import { instanceXrd } from "../instance-xrd.ts";
import { dataServiceOf } from "../table/data-service-of.ts";
import { readTable } from "../table/read-table.ts";
import { catalogWith } from "../testing/catalogs.ts";
import { startClaimServer } from "../testing/claim-server.ts";
import { accepts } from "../testing/json-schema.ts";
import { tableFromCatalog } from "./from-catalog.ts";

/** Parameters with every keyword that a table keeps. */
const properties = {
  word: { type: "string", minLength: 2, maxLength: 4 },
  code: { type: "string", pattern: "^[a-z]+-\\d*$" },
  choice: { enum: ["a", "b", "on"] },
  only: { const: "this" },
  port: { type: "integer", minimum: 3, exclusiveMaximum: 7 },
  old: { type: "integer", minimum: 3, exclusiveMinimum: true },
  step: { type: "integer", multipleOf: 3 },
  share: { type: "number", exclusiveMinimum: 0, maximum: 1.5 },
  level: { type: "number", enum: [1, 2.5] },
  flag: { type: "boolean" },
  yes: { type: "boolean", const: true },
  either: { type: ["integer", "string"] },
  list: { type: "array", items: { type: "string", minLength: 2 }, minItems: 1, maxItems: 2 },
  numbers: { type: "array", items: { $ref: "#/definitions/small" } },
  open: { type: "object", properties: { a: { type: "integer", minimum: 3 } }, required: ["a"] },
  closed: {
    type: "object",
    properties: { a: { type: "string", enum: ["a", "b"] }, b: { $ref: "#/definitions/small" } },
    additionalProperties: false,
  },
  "in-need": { type: "string" },
};
const schema = {
  type: "object",
  properties,
  required: ["in-need"],
  definitions: { small: { type: "integer", maximum: 5 } },
};
const update = {
  type: "object",
  properties: { word: properties.word, "in-need": properties["in-need"] },
  additionalProperties: false,
};

const schemas = { service_instance: { create: { parameters: schema }, update: { parameters: update } } };
const { text, warnings } = tableFromCatalog(
  catalogWith(schema, { name: "judged", description: "Judged." }, { schemas }),
  { source: "a test" },
);
assert.deepEqual(warnings, []);
const { table, faults } = readTable(parsePlacedYaml(text));
assert.deepEqual(faults, []);
assert.ok(table !== undefined);
const service = dataServiceOf(table);
const server = await startClaimServer(
  "judged",
  generations.map((generation) => instanceXrd(generation, service)),
);
const type = claimResource("JudgedInstance");
const names = new Map(table.parameters.map(({ name, to }) => [to["broker"]?.key ?? "", name]));

/** The claim's spec for parameters in the broker's names. */
function specOf(parameters: Readonly<Record<string, unknown>>): object {
  const own = Object.entries(parameters).map(([key, value]) => [names.get(key) ?? key, value] as const);
  return { service: "judged", plan: "one", parameters: Object.fromEntries(own) };
}

async function isAccepted(name: string, parameters: Readonly<Record<string, unknown>>): Promise<boolean> {
  try {
    await server.create(type, name, specOf(parameters), { dryRun: true });
    return true;
  } catch (error) {
    // The generations differ, or something else than the claim is wrong.
    assert.match(String(error), /is invalid|unable to decode|cannot be handled|422/);
    return false;
  }
}

const texts = fc.constantFrom<unknown>(
  ..."a ab this abcd abcde a- ab-12 - on b ü€ 😀😀 😀😀😀😀 a-b".split(" "),
  "",
);
const numbers = fc.constantFrom<unknown>(-3, 0, 1, 2, 3, 4, 5, 6, 7, 9, 0.5, 1.5, 1.6, 2.5);
const small = fc.constantFrom<unknown>(2, 3, 5, 6);
const lists = fc.array(fc.constantFrom<unknown>("a", "ab", "abc"), { maxLength: 3 });
const a = fc.constantFrom<unknown>("a", "b", "c", 2, 3, 5);
const objects = fc.oneof(fc.record({ a: a, b: small }, { requiredKeys: [] }), fc.record({ a: a }));
const any = fc.oneof(texts, numbers, fc.boolean(), lists, objects);

/** A parameter with a value, in most cases one of its type. */
const pairs = fc.constantFrom(...Object.entries<object>(properties)).chain(([key, one]) => {
  const type = "type" in one ? one.type : "string";
  const ofType: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    array: key === "numbers" ? fc.array(small, { maxLength: 3 }) : lists,
    boolean: fc.boolean(),
    integer: numbers,
    number: numbers,
    object: objects,
  };
  const own = ofType[String(type)] ?? texts;
  return fc.tuple(fc.constant(key), fc.oneof({ arbitrary: own, weight: 4 }, { arbitrary: any, weight: 1 }));
});

test("a claim is accepted exactly when the JSON Schema accepts its parameters", async () => {
  const counts = { accepted: 0, refused: 0 };
  const judged = async (parameters: Readonly<Record<string, unknown>>): Promise<void> => {
    const expected = accepts(schema, parameters, schema);
    const shown = JSON.stringify(parameters);
    assert.equal(await isAccepted("tried", parameters), expected, shown);
    counts[expected ? "accepted" : "refused"]++;
  };
  assert.equal(await isAccepted("tried", { "in-need": "x" }), true);
  await judged({ word: "ab" });
  await fc.assert(
    fc.asyncProperty(pairs, ([key, one]) => judged({ "in-need": "x", [key]: one })),
    { numRuns: 300, interruptAfterTimeLimit: 150_000 },
  );
  assert.ok(counts.accepted > 50 && counts.refused > 50, JSON.stringify(counts));
});

test("only what the schema of updates names can change", async () => {
  const before = specOf({ "in-need": "x", word: "ab", port: 4 });
  const cases = [
    ["kept", { word: "abc" }, undefined],
    ["changed", { port: 5 }, /parameters\.port cannot be changed after creation/],
    ["added", { flag: true }, /parameters\.flag cannot be changed after creation/],
    ["removed", { port: null }, /parameters\.port cannot be changed after creation/],
  ] as const;
  for (const [name, parameters, message] of cases)
    await server.change(type, name, [name, before, { parameters }, message]);
});
