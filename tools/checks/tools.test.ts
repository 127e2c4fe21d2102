import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { repositoryRoot } from "../root.ts";

/** Runs a program of node_modules/.bin in the checkout and fails with all it printed. */
function run(program: string, ...args: readonly string[]): void {
  const path = join(repositoryRoot, "node_modules", ".bin", program);
  const result = spawnSync(path, args, {
    cwd: repositoryRoot,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  assert.equal(result.error, undefined);
  assert.equal(result.status, 0, `${program} ${args.join(" ")}\n${result.stdout}${result.stderr}`);
}

test("all types check", () => {
  run("tsc", "-p", ".");
});

test("the linter finds nothing", () => {
  run("oxlint", "--type-aware", "--deny-warnings", ".");
});

test("all files are formatted", () => {
  run("biome", "format", ".");
});
