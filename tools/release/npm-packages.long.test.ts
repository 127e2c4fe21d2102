import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { klutchVersion } from "@klutch/api";
import { run } from "@klutch/engines";
import { recordAt, textAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";
import { buildNpmPackages, npmPackages } from "./npm-packages.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-npm-test-"));
after(() => rm(folder, { recursive: true, force: true }));
const modules = join(folder, "node_modules");
const installed = (name: string): string => join(modules, "@klutch", name);

await buildNpmPackages({ out: folder, say: () => undefined });

test("packages are the same when they are built again", async () => {
  const again = join(folder, "again");
  await buildNpmPackages({ out: again, say: () => undefined });
  const names = await readdir(join(folder, "npm"));
  const version = klutchVersion.slice(1);
  assert.deepEqual(names, npmPackages.map((name) => `klutch-${name}-${version}.tgz`).toSorted());
  for (const name of names)
    assert.deepEqual(
      await readFile(join(again, "npm", name)),
      await readFile(join(folder, "npm", name)),
      name,
    );
});

test("each has its README and licence, no test, and imports only what it depends on", async () => {
  await install();
  for (const name of npmPackages) {
    const files = await readdir(installed(name), { recursive: true });
    for (const file of ["README.md", "LICENSE", "dist/index.js", "dist/index.d.ts"])
      assert.ok(files.includes(file), `${name}: ${file}`);
    assert.deepEqual(
      files.filter((file) => /test|\.ts$/.test(file) && !file.endsWith(".d.ts")),
      [],
    );
    const manifest = await manifestOf(name);
    assert.equal(textAt(manifest, "license"), "Apache-2.0");
    assert.ok(!JSON.stringify(manifest).includes("private"));
  }
});

for (const resolution of ["nodenext", "bundler"] as const)
  test(`a consumer with all strictness compiles against them, resolving as ${resolution} does`, async () => {
    await install();
    await writeConsumers();
    const compilerOptions = {
      ...strict,
      module: resolution === "nodenext" ? "nodenext" : "esnext",
      moduleResolution: resolution,
    };
    const config = join(folder, `tsconfig.${resolution}.json`);
    await writeFile(config, JSON.stringify({ compilerOptions, include: ["consumer/*.ts"] }));
    const tsc = join(repositoryRoot, "node_modules", "typescript", "bin", "tsc");
    await run(process.execPath, [tsc, "--project", config]).catch((error: unknown) => {
      assert.fail(error instanceof Error && "stdout" in error ? String(error.stdout) : String(error));
    });
  });

test("they run where nothing else of this tree is", async () => {
  await install();
  await writeConsumers();
  const { stdout } = await run(process.execPath, [join(folder, "consumer", "all.ts")], { cwd: folder });
  assert.equal(stdout, "2.17 InProgress NotFound 1 true true\n");
});

/** Compiler options without `skipLibCheck`: our declarations are checked, too. */
const strict = {
  target: "es2024",
  lib: ["es2024", "esnext"],
  types: ["node"],
  noEmit: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
};

/** Unpacks each package once, as npm would; their other dependencies come from the tree, so that nothing is downloaded. */
async function install(): Promise<void> {
  for (const name of npmPackages) {
    const target = installed(name);
    await mkdir(target, { recursive: true });
    const archive = join(folder, "npm", `klutch-${name}-${klutchVersion.slice(1)}.tgz`);
    await run("tar", ["-xzf", archive, "-C", target, "--strip-components=1"]);
    const needed = Object.keys(recordAt(await manifestOf(name), "dependencies"));
    for (const other of needed.filter((each) => !each.startsWith("@klutch/"))) await link(other);
  }
  await link("@types/node");
}

async function link(name: string): Promise<void> {
  const path = join(modules, name);
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });
  await symlink(join(repositoryRoot, "node_modules", name), path);
}

async function manifestOf(name: string): Promise<unknown> {
  return JSON.parse(await readFile(join(installed(name), "package.json"), "utf8"));
}

/** One that uses something of each of them, and the examples of their READMEs. */
async function writeConsumers(): Promise<void> {
  const consumer = join(folder, "consumer");
  await mkdir(consumer, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(consumer, "all.ts"), everything);
  for (const name of npmPackages) {
    const readme = await readFile(join(installed(name), "README.md"), "utf8");
    const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block ?? "");
    assert.ok(blocks.length > 0, `${name} shows how it is used`);
    for (const [index, block] of blocks.entries())
      await writeFile(join(consumer, `${name}-${index}.ts`), block);
  }
}

const everything = `
import { createBackupManagerClient, phaseOf } from "@klutch/backup-manager";
import { createHttpClient } from "@klutch/http-client";
import { ApiError, isNotFound, parseYaml } from "@klutch/kube";
import { valueAt } from "@klutch/kube-core";
import { createOsbClient } from "@klutch/osb";
import { accepts, object, string } from "@klutch/schema";
import { Secret } from "@klutch/telemetry";

const version: string = "2.17";
const phase: string = phaseOf("running");
const one: unknown = valueAt(parseYaml("a: {b: 1}"), "a", "b");
const made: readonly unknown[] = [createBackupManagerClient, createHttpClient, createOsbClient, accepts, ApiError, isNotFound];
const valid = accepts(object({ a: string() }), { a: "b" });
const hidden = String(new Secret("x")).includes("redacted");
console.log(version, phase, "NotFound", one, made.every((each) => typeof each === "function") && valid, hidden);
`;
