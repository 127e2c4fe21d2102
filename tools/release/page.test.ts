/** docs/release.md, held against what it tells of. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { repositoryRoot } from "../root.ts";
import { archiveName } from "./executables-archive.ts";
import { releaseFlags } from "./options.ts";

const page = await readFile(join(repositoryRoot, "docs", "release.md"), "utf8");
const header = join(import.meta.dirname, "main.ts");

test("the table has every flag of release:build, and so has the line of the program itself", async () => {
  const flags = Object.keys(releaseFlags).map((name) => `--${name}`);
  const rows = [...page.matchAll(/^\| `(--[a-z-]+) [^`]+` \|/gm)].map(([, flag]) => flag);
  assert.deepEqual(rows, flags);
  const [usage = ""] =
    /npm run release:build -- (?:.|\n)*?\n \*\n/.exec(await readFile(header, "utf8")) ?? [];
  assert.deepEqual(
    [...usage.matchAll(/\[(--[a-z-]+)/g)].map(([, flag]) => flag),
    flags,
  );
});

test("the lines that install the plugin name the archive of this version", () => {
  const named = [...page.matchAll(/executables\/(kubectl-bind_\S+)/g)].map(([, name]) => name);
  const archive = archiveName("kubectl-bind", { os: "linux", architecture: "amd64" });
  assert.deepEqual(named, [archive, archive]);
});
