import assert from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "./check.ts";
import { outputOnFailure, unformattedFiles } from "./programs.ts";
import { openTree } from "./tree.ts";
import { chooseChecks, outcomeText, runChecks } from "./run.ts";

const tree = openTree();

const check = (name: string, find: Check["find"]): Check => ({
  name,
  rule: `the rule of ${name}`,
  advice: "npm run mend",
  find,
});

test("a broken rule is printed with each problem and what to do; one that holds takes a line", async () => {
  const printed: string[] = [];
  const outcomes = await runChecks(
    [check("good", () => []), check("bad", async () => ["a.ts: one\ntwo", "b.ts"])],
    tree,
    (outcome) => printed.push(outcomeText({ ...outcome, seconds: 1.25 })),
  );
  assert.deepEqual(
    outcomes.map(({ problems }) => problems.length),
    [0, 2],
  );
  assert.deepEqual(printed, [
    "ok     good         1.3 s",
    [
      "FAILED bad          1.3 s   the rule of bad",
      "    a.ts: one",
      "    two",
      "    b.ts",
      "    What to do: npm run mend",
    ].join("\n"),
  ]);
});

test("a check that cannot run counts as broken, and the others still run", async () => {
  const outcomes = await runChecks(
    [
      check("broken", () => {
        throw new Error("git is missing");
      }),
      check("good", () => []),
    ],
    tree,
    () => {},
  );
  assert.deepEqual(
    outcomes.map(({ problems }) => problems),
    [["the check could not run: git is missing"], []],
  );
});

test("words choose checks, and a word that names none is answered with the names that there are", () => {
  const all = [check("types", () => []), check("lint", () => [])];
  assert.deepEqual(chooseChecks(all, []), all);
  assert.deepEqual(
    chooseChecks(all, ["lint"]).map(({ name }) => name),
    ["lint"],
  );
  assert.throws(() => chooseChecks(all, ["lint", "style"]), /no check called "style".*types, lint/);
});

test("a program that fails gives all it printed, one that succeeds gives nothing", async () => {
  assert.deepEqual(await outputOnFailure("biome", "--version"), []);
  const [problem = "", ...more] = await outputOnFailure("biome", "format", "there-is-no-such-file.ts");
  assert.deepEqual(more, []);
  assert.match(problem, /there-is-no-such-file/);
});

test("a program that is not installed is an error that names it", async () => {
  await assert.rejects(outputOnFailure("no-such-program"), /no-such-program/);
});

test("the formatter's answer is its list of files, unless it found something else too", () => {
  const rule = "━".repeat(20);
  const unformatted = `a.ts format ${rule}\n\n  × would change\n\npackages/b.ts format ${rule}\n`;
  assert.deepEqual(unformattedFiles(unformatted), ["a.ts", "packages/b.ts"]);
  const broken = `${unformatted}c.ts:1:3 parse ${rule}\n\n  × expected a brace\n`;
  assert.deepEqual(unformattedFiles(broken), [broken]);
  assert.deepEqual(unformattedFiles("biome crashed"), ["biome crashed"]);
});
