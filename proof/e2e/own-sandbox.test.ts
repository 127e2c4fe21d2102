import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { waitFor } from "@klutch/kube-testing";

test("a sandbox ends with the process that started it, also when that one is killed", async () => {
  await using root = await mkdtempDisposable(join(tmpdir(), "klutch-own-sandbox-"));
  const launcher = join(root.path, "sandbox", "launcher", "src");
  await mkdir(launcher, { recursive: true });
  // Stands for the launcher, which takes a minute to start, and ignores what a terminal would send.
  await writeFile(
    join(launcher, "main.ts"),
    "console.log(process.pid); setInterval(() => undefined, 1_000);",
  );
  const starter = `
    import { startSandbox } from ${JSON.stringify(new URL("./own-sandbox.ts", import.meta.url).href)};
    const { child } = startSandbox({ env: process.env, args: [], tree: ${JSON.stringify(root.path)} });
    child.stdout.pipe(process.stdout);`;
  const test = spawn(process.execPath, ["--input-type=module", "--eval", starter], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: readonly unknown[] = await once(createInterface(test.stdout), "line");
  const pid = Number(lines[0]);
  assert.ok(existsSync(`/proc/${pid}`));
  test.kill("SIGKILL");
  await waitFor("the sandbox to end", () => !existsSync(`/proc/${pid}`));
});
