import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ownProgram, run } from "@klutch/engines";
import { serviceTables } from "@klutch/services";
import { build } from "esbuild";
import { repositoryRoot } from "../root.ts";
import { bundleApp, bundledApps } from "./bundle.ts";

test("every shipped app becomes one file that starts without this repository", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-bundle-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const app of bundledApps) {
    const outfile = join(folder, `${app}.mjs`);
    await bundleApp(app, outfile);
    // A flag that none of them knows: the program runs far enough to say so.
    const failed = await run(process.execPath, [outfile, "--no-such-flag"], { cwd: folder }).then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.match(String(failed), /no-such-flag/, app);
  }
});

test("the konnector's bundle has one byte a letter, and nothing that no program uses", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-bundle-"));
  t.after(() => rm(folder, { recursive: true }));
  const outfile = join(folder, "konnector.mjs");
  const files = await bundleApp("konnector", outfile);
  const text = await readFile(outfile);
  assert.equal(
    text.findIndex((byte) => byte > 127),
    -1,
    "V8 keeps the text with two bytes a letter",
  );
  const unused =
    /node_modules\/(?:undici\/(?:index|lib\/(?:mock|milo|cache))|prom-client\/lib\/(?:cluster|pushgateway))/;
  assert.deepEqual(
    files.filter((file) => unused.test(file)),
    [],
  );
  // Ends before it serves, but after all that is loaded at once.
  const listed = `process.on("exit", () => console.log(JSON.stringify(process.moduleLoadList)))`;
  const preload = join(folder, "list.cjs");
  await writeFile(preload, listed);
  const { stdout } = await run(process.execPath, ["--require", preload, outfile, "--version"]);
  assert.match(stdout, /NativeModule http"/);
  assert.doesNotMatch(stdout, /internal\/deps\/undici/, "an import of Node's http loads a second undici");
});

test("a konnector that waits for the lease loads neither controllers nor the sync engine", async () => {
  const { metafile } = await build({
    entryPoints: [ownProgram("konnector")],
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
    outfile: "standby.mjs",
    metafile: true,
    packages: "external",
    alias: { "@klutch/sync": join(repositoryRoot, "packages/sync/src/index.ts") },
    external: ["./agent.ts"],
  });
  const loaded = Object.entries(Object.values(metafile.outputs)[0]?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([file]) => file);
  assert.ok(loaded.some((file) => file.endsWith("src/konnector.ts")));
  assert.deepEqual(
    loaded.filter((file) => /packages\/sync|src\/controllers|src\/agent/.test(file)),
    [],
  );
});

test("a bundle has the tables of services inside", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-bundle-"));
  t.after(() => rm(folder, { recursive: true }));
  const outfile = join(folder, "cli.mjs");
  await bundleApp("cli", outfile);
  const text = await readFile(outfile, "utf8");
  for (const { type, about } of serviceTables()) {
    assert.ok(text.includes(JSON.stringify(type)), type);
    assert.ok(text.includes(about), type);
  }
  assert.ok(!text.includes("service.yaml"), "it would read the tables from files");
});
