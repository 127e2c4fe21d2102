/** Tests schemas that were made to keep their reader busy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import {
  breakingChanges,
  Effort,
  EffortError,
  type JsonSchema,
  problemsOf,
  prunedFields,
  SchemaReader,
} from "./index.ts";

/** Runs the check in a thread of its own, which a check that does not end cannot hold up. */
async function endsWithin(limitMs: number, schema: JsonSchema, value: unknown): Promise<string> {
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    import(workerData.module).then(({ problemsOf }) =>
      parentPort.postMessage(String(problemsOf(workerData.schema, workerData.value).length)));`;
  const module = new URL("./index.ts", import.meta.url).href;
  const worker = new Worker(code, { eval: true, workerData: { module, schema, value } });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  worker.on("message", resolve).on("error", reject);
  const timer = setTimeout(() => resolve("still busy"), limitMs);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

for (const pattern of ["^(a+)+$", "^(a|a?)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"]) {
  test(`the pattern ${pattern}, which takes other engines for ever, is judged at once`, async () => {
    assert.equal(await endsWithin(20_000, { type: "string", pattern }, `${"a".repeat(60)}!`), "1");
  });
}

test("patterns mean what they mean to the API server, whose engine is RE2", () => {
  const problems = (pattern: string, value: string): number =>
    problemsOf({ type: "string", pattern }, value).length;
  assert.equal(problems("b", "abc"), 0);
  assert.equal(problems("^b", "abc"), 1);
  assert.equal(problems("^\\pL+$", "é"), 0);
  assert.equal(problems("^(?i)AbC$", "abc"), 0);
  assert.equal(problems("^(?P<year>\\d{4})$", "2026"), 0);
  assert.equal(problems("\\Aabc\\z", "abc"), 0);
  assert.equal(problems("^[[:alpha:]]+$", "abc1"), 1);
  assert.equal(problems("^.$", "😀"), 0);
  // What it does not read, it does not take into a schema either.
  for (const pattern of ["^(?=a)b", "(a)\\1", "(", "((a{100}){100}){100}", "a".repeat(5_000)])
    assert.equal(problems(pattern, "x"), 0, pattern.slice(0, 20));
});

const bounded = (steps: number): SchemaReader => new SchemaReader(new Effort(steps));
const names = (count: number, prefix = "f"): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const withFields = (fields: readonly string[], schema: JsonSchema): JsonSchema => ({
  type: "object",
  properties: Object.fromEntries(fields.map((name) => [name, schema])),
});

test("reading a huge schema ends with the given effort", () => {
  const items = Array.from({ length: 20_000 }, (_, index) => `v${index}`);
  const wide = { type: "string", enum: items };
  const checks: readonly (() => unknown)[] = [
    () =>
      problemsOf(
        { type: "array", items: withFields(names(5_000), { type: "string" }) },
        Array.from({ length: 200_000 }, () => ({})),
        "",
        bounded(100_000),
      ),
    () =>
      problemsOf(
        { type: "array", items: { ...wide, pattern: "([a-z]{1,200}){1,4}!" } },
        Array.from({ length: 50_000 }, () => "x".repeat(500)),
        "",
        bounded(100_000),
      ),
    () =>
      prunedFields(
        { type: "object" },
        Object.fromEntries(names(100_000).map((name) => [name, { [name]: 1 }])),
        "",
        new SchemaReader(new Effort(0)),
      ),
    () =>
      breakingChanges(
        withFields(names(20_000), { type: "string" }),
        { type: "object", additionalProperties: withFields(names(20_000, "g"), wide) },
        bounded(1_000_000),
      ),
    () =>
      breakingChanges(
        withFields(names(20_000), { anyOf: [wide] }),
        { type: "object", additionalProperties: { anyOf: [wide, wide] } },
        bounded(1_000_000),
      ),
  ];
  for (const [index, check] of checks.entries()) assert.throws(check, EffortError, `check ${index}`);
});

test("an effort is spent with the first step that it lacks", () => {
  const effort = new Effort(2);
  effort.spend(2);
  assert.equal(effort.isSpent, false);
  assert.throws(() => effort.spend(1), EffortError);
  assert.equal(effort.isSpent, true);
});

test("a large schema that is in order needs less than that", () => {
  let schema: JsonSchema = { type: "string", description: "x".repeat(100) };
  for (let level = 0; level < 3; level++) schema = withFields(names(25, `level${level}`), schema);
  assert.deepEqual(breakingChanges(schema, structuredClone(schema), bounded(1_000_000)), []);
});
