import assert from "node:assert/strict";
import { test } from "node:test";
import { mutate, type Mutator, mutationsOf } from "./mutators.ts";

function mutantsOf(source: string, mutator: Mutator): readonly string[] {
  return mutationsOf(source)
    .filter((mutation) => mutation.mutator === mutator)
    .flatMap((mutation) => mutate(source, mutation) ?? []);
}

const examples: readonly (readonly [Mutator, string, readonly string[]])[] = [
  ["negate", "if (a) b();", ["if (!(a)) b();"]],
  ["negate", "const x = (a && b) ? 1 : 2;", ["const x = (!(a && b)) ? 1 : 2;"]],
  ["compare", "const x = a < b === c;", ["const x = a <= b === c;", "const x = a < b !== c;"]],
  ["logic", "const x = a && b || c;", ["const x = a || b || c;", "const x = a && b && c;"]],
  ["default", "const x = a?.b ?? (c as D);", ["const x = null ?? (c as D);"]],
  [
    "drop",
    "await save(); a.b = 1; super(); log.info('x'); delete a.b;",
    ["; a.b = 1; super(); log.info('x'); delete a.b;", "await save(); ; super(); log.info('x'); delete a.b;"],
  ],
  ["return", "function f() { a(); return b; }", ["function f() { a(); return; return b; }"]],
  [
    "constant",
    "const x: 1 | true = { 2: true, a: [9, 1_000] };",
    [
      "const x: 1 | true = { 2: false, a: [9, 1_000] };",
      "const x: 1 | true = { 2: true, a: [10, 1_000] };",
      "const x: 1 | true = { 2: true, a: [9, 10000] };",
    ],
  ],
  ["text", 'const x = { reason: "Gone", kind: "Pod" };', ['const x = { reason: "", kind: "Pod" };']],
];

for (const [mutator, source, wanted] of examples)
  test(`the mutator "${mutator}" changes ${source}`, () => {
    const made = mutantsOf(source.replace("super(); ", ""), mutator);
    assert.deepEqual(
      made,
      wanted.map((text) => text.replace("super(); ", "")),
    );
  });

test("comments, strings, templates, types and imports stay", () => {
  const source =
    'import a from "a";\n// a === b\nconst x: true = "a && b" + `1 < ${2}` as 3;\ntype T = 1 extends 2 ? true : 3;';
  assert.deepEqual(
    mutationsOf(source).flatMap((mutation) => mutate(source, mutation) ?? []),
    [source.replace("${2}", "${3}")],
  );
});

test("a change that leaves no TypeScript, or the same program, is no mutant", () => {
  assert.equal(mutate("a();", { mutator: "drop", start: 0, end: 2, text: "" }), undefined);
  assert.equal(mutate("a();", { mutator: "drop", start: 0, end: 1, text: "a" }), undefined);
});
