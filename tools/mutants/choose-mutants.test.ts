import assert from "node:assert/strict";
import { test } from "node:test";
import type { SourceFile } from "../checks/tree.ts";
import { chooseMutants, isMutable, mutantById } from "./choose-mutants.ts";

const lines = Array.from({ length: 30 }, (_, index) => `export const a${index} = b < ${index} && c === d;`);
const source = (path: string, text = `${lines.join("\n")}\n`): SourceFile => ({ path, text });
const sources = [
  source("packages/a/src/one.ts"),
  source("packages/b/src/two.ts"),
  source("packages/b/src/two.test.ts"),
];
const choice = { seed: 1, count: 12, parts: ["packages/a", "packages/b"] };
const ids = (found: readonly { readonly id: string }[]): readonly string[] => found.map(({ id }) => id);

test("the same seed gives the same mutants, another seed others, and each part its share", () => {
  const first = chooseMutants(sources, choice);
  assert.deepEqual(chooseMutants(sources.toReversed(), choice), first);
  assert.notDeepEqual(ids(chooseMutants(sources, { ...choice, seed: 2 })), ids(first));
  assert.equal(first.filter(({ part }) => part === "packages/a").length, 6);
  assert.equal(first.filter(({ file }) => file === "packages/b/src/two.ts").length, 6);
  assert.equal(new Set(ids(first).map((id) => id.split(":").slice(0, 2).join())).size, 12);
});

test("a tree with other lines in between has the same mutants of the lines that stay", () => {
  const other = sources.map(({ path, text }) => source(path, `\n// A comment.\n${text}`));
  const changes = (tree: readonly SourceFile[]): readonly string[] =>
    chooseMutants(tree, choice)
      .map(({ file, after }) => `${file} ${after}`)
      .toSorted();
  assert.deepEqual(changes(other), changes(sources));
});

test("an id names one mutant, which differs from the source in its line", () => {
  const [mutant] = chooseMutants(sources, choice);
  assert.ok(mutant !== undefined);
  assert.deepEqual(mutantById(sources, mutant.id), mutant);
  assert.match(mutant.id, /^packages\/a\/src\/one\.ts:\d+:\d+:(?:compare|logic|constant)$/);
  assert.equal(mutant.text, sources[0]?.text.replace(`${mutant.before}\n`, `${mutant.after}\n`));
  assert.throws(
    () => mutantById(sources, "packages/a/src/one.ts:1:1:negate"),
    /No place .* --list prints ids/,
  );
});

test("tests, their helpers, generated files, entries and flags are not mutated", () => {
  for (const path of [
    "x.test.ts",
    "testing/x.ts",
    "x-testing.ts",
    "gen/x.ts",
    "main.ts",
    "config.ts",
    "config-values.ts",
  ])
    assert.equal(isMutable(`packages/a/src/${path}`, "packages/a"), false, path);
  assert.ok(isMutable("packages/a/src/x.ts", "packages/a"));
  assert.ok(!isMutable("packages/ab/src/x.ts", "packages/a"));
});
