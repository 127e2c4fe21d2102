import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { repositoryRoot } from "../root.ts";
import { type Check, outcomeText, runChecks } from "./check.ts";
import { outputOnFailure } from "./programs.ts";
import { openTree } from "./tree.ts";

const tree = openTree();

const check = (name: string, find: Check["find"]): Check => ({
  name,
  rule: `the rule of ${name}`,
  advice: "npm run mend",
  find,
});

test("a broken rule is printed with each problem and what to do; one that holds takes a line", async () => {
  const bad = check("bad", async () => ["a.ts: one\ntwo", "b.ts"]);
  const good = check("good", () => []);
  const printed: string[] = [];
  assert.deepEqual(await runChecks([good, bad], tree, (text) => printed.push(text)), ["bad"]);
  assert.deepEqual(
    printed.map((text) => text.split(" ", 1).join()),
    ["ok", "FAILED"],
  );
  assert.equal(outcomeText(good, [], 1.25), "ok     good           1.3 s");
  assert.deepEqual(outcomeText(bad, ["a.ts: one\ntwo", "b.ts"], 1.25).split("\n"), [
    "FAILED bad            1.3 s   the rule of bad",
    "    a.ts: one",
    "    two",
    "    b.ts",
    "    What to do: npm run mend",
  ]);
});

test("a check that cannot run counts as broken, and the others still run", async () => {
  const broken = check("broken", () => {
    throw new Error("git is missing");
  });
  const printed: string[] = [];
  const all = [broken, check("good", () => [])];
  assert.deepEqual(await runChecks(all, tree, (text) => printed.push(text)), ["broken"]);
  assert.match(printed[0] ?? "", /the check could not run: git is missing/);
  assert.match(printed[1] ?? "", /^ok {5}good/);
});

test("a word that names no check ends the command with 2 and the existing names", () => {
  const entry = join(import.meta.dirname, "main.ts");
  const { status, stderr, stdout } = spawnSync(process.execPath, [entry, "lint", "style"], {
    encoding: "utf8",
  });
  assert.equal(status, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /no check called "style".*format, lint, types, /);
});

test("the linter refuses a file of 401 lines, a mark of unfinished work and a circle of types", async () => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-lint-"));
  try {
    const findings = async (files: Readonly<Record<string, string>>): Promise<string> => {
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
      const config = join(repositoryRoot, ".oxlintrc.json");
      const paths = Object.keys(files).map((name) => join(folder, name));
      return (await outputOnFailure("oxlint", `--config=${config}`, "--deny-warnings", ...paths)).join();
    };
    const lines = (count: number): string => "console.log(1);\n".repeat(count);
    assert.equal(
      await findings({ "long.ts": lines(400), "good.ts": "// Storing TODOs is fine.\nexport {};\n" }),
      "",
    );
    assert.match(await findings({ "long.ts": lines(401) }), /max-lines/);
    for (const mark of ["TODO", "FIXME", "XXX"])
      assert.match(await findings({ "mark.ts": `// Later (${mark}).\nexport {};\n` }), /no-warning-comments/);
    const circle = await findings({
      "a.ts": `${"import"} type { B } from "./b.ts";\nexport type A = B;\n`,
      "b.ts": `${"export"} type { C as B } from "./c.ts";\n`,
      "c.ts": `${"import"} type { A } from "./a.ts";\nexport type C = A | 1;\n`,
    });
    assert.match(circle, /no-cycle/);
  } finally {
    await rm(folder, { recursive: true });
  }
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
