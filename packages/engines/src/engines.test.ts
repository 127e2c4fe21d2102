import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { buildEngine, modulesFolder } from "./build.ts";
import { engineDefinition, engineNames } from "./catalog.ts";
import { fetchPrebuilt, prebuiltName } from "./prebuilt.ts";
import { resolveEngine } from "./resolve.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-engines-"));
after(() => rm(folder, { recursive: true, force: true }));
const crane = engineDefinition("crane");

/** A `go` that says what the test wants: only a fake fails on demand. */
async function fakeGo(name: string, script: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

test("without Go the error says which engine needs which version", async () => {
  await assert.rejects(buildEngine(crane, folder, { goCommand: join(folder, "no-such-go") }), {
    code: "GoMissing",
    message: /crane has to be built, but Go does not run here\. Install Go 1\.\d+ or newer/,
  });
});

test("an old Go is named before anything is built", async () => {
  const goCommand = await fakeGo("old-go", "echo go1.20.3");
  await assert.rejects(buildEngine(crane, folder, { goCommand }), {
    code: "GoTooOld",
    message: /crane needs Go 1\.\d+ or newer to build; found go1\.20\.3/,
  });
});

test("a build that fails shows the compiler's words and leaves nothing in the cache", async () => {
  const goCommand = await fakeGo(
    "bad-go",
    'case "$1" in env) echo go1.99.0;; *) echo "no network here" >&2; exit 1;; esac',
  );
  const cacheFolder = join(folder, "cache");
  await assert.rejects(resolveEngine("crane", { cacheFolder, goCommand }), {
    code: "BuildFailed",
    message: /building crane v\S+ failed[\s\S]*no network here/,
  });
  const left = await readdir(join(cacheFolder, "engines", "crane"));
  // The lock's file stays.
  assert.deepEqual(
    left.filter((name) => !name.endsWith(".mutex")),
    [],
  );
});

test("two processes' worth of callers build an engine once, and the second is told that it waits", async () => {
  const log = join(folder, "builds");
  // Writes the program that it was asked to build (`-o <path>`), slowly.
  const script = `case "$1" in env) echo go1.99.0;; *) echo x >> ${log}; sleep 0.5; while [ "$1" != "-o" ]; do shift; done; echo built > "$2";; esac`;
  const options = { cacheFolder: join(folder, "shared"), goCommand: await fakeGo("slow-go", script) };
  const said: string[] = [];
  const progress = (line: string): void => void said.push(line);
  const paths = await Promise.all([1, 2, 3].map(() => resolveEngine("crane", { ...options, progress })));
  assert.equal(new Set(paths).size, 1);
  assert.equal(await readFile(log, "utf8"), "x\n");
  assert.ok(said.some((line) => line.includes("waiting")));
});

test("what a killed process left half-made is removed, not used", async () => {
  const goCommand = await fakeGo(
    "quick-go",
    'case "$1" in env) echo go1.99.0;; *) while [ "$1" != "-o" ]; do shift; done; echo built > "$2";; esac',
  );
  const options = { cacheFolder: join(folder, "half"), goCommand };
  const program = await resolveEngine("crane", options);
  const target = dirname(program);
  await rm(target, { recursive: true });
  await mkdir(`${target}.partial-abc`);
  await writeFile(join(`${target}.partial-abc`, "crane"), "half");
  assert.equal(await resolveEngine("crane", options), program);
  assert.equal(await readFile(program, "utf8"), "built\n");
  assert.ok((await readdir(dirname(target))).every((name) => !name.includes(".partial-")));
});

test("every engine's version is the one that its go.mod pins", async () => {
  // Dex is pinned by a commit of its release, because its release tags are no Go module versions.
  for (const name of engineNames.filter((engine) => engine !== "dex")) {
    const { module, version, package: goPackage } = engineDefinition(name);
    const text = await readFile(join(modulesFolder, module, "go.mod"), "utf8");
    const pins = [...text.matchAll(/^\s*(?:require )?(\S+) (v\S+)/gm)].filter(
      ([, path = ""]) => goPackage === path || goPackage.startsWith(`${path}/`),
    );
    assert.deepEqual(
      pins.map(([, , pinned]) => pinned),
      [version],
      name,
    );
  }
});

test("a prebuilt program is used only when it is what was pinned", async (t) => {
  const bytes = Buffer.from("the program");
  const server = createServer((_request, response) => response.end(bytes));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  t.after(() => server.close());
  const address = server.address();
  const mirrorUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const pin = (text: string): ReadonlyMap<string, string> =>
    new Map([[prebuiltName(crane), createHash("sha256").update(text).digest("hex")]]);
  const target = await mkdtemp(join(folder, "prebuilt-"));
  await assert.rejects(fetchPrebuilt(crane, target, { mirrorUrl, checksums: pin("another program") }), {
    code: "ChecksumMismatch",
  });
  assert.deepEqual(await readdir(target), []);
  assert.equal(await fetchPrebuilt(crane, target, { mirrorUrl, checksums: new Map() }), false);
  assert.equal(
    await fetchPrebuilt(crane, target, { mirrorUrl: "http://127.0.0.1:1", checksums: pin("x") }),
    false,
  );
  assert.equal(await fetchPrebuilt(crane, target, { mirrorUrl, checksums: pin("the program") }), true);
  assert.deepEqual(await readFile(join(target, "crane")), bytes);
});
