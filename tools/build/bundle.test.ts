import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { run } from "@klutch/engines";
import { serviceTables } from "@klutch/services";
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
