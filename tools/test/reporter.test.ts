import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

const folder = await mkdtemp(join(tmpdir(), "klutch-reporter-"));
after(() => rm(folder, { recursive: true, force: true }));

test("the time of a file has what it sets up outside of its tests, and the file itself counts as no test", async () => {
  const file = join(folder, "slow.test.mjs");
  const busyMs = 300;
  await writeFile(
    file,
    `import { test } from "node:test";
for (const end = performance.now() + ${busyMs}; performance.now() < end; ) await undefined;
test("quick", () => {});
`,
  );
  const reporter = join(import.meta.dirname, "reporter.ts");
  const args = ["--test", `--test-reporter=${reporter}`, "--test-reporter-destination=stdout", file];
  // A runner that knows that it runs in a test of another one reports to that one.
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {} });
  const [, tests, seconds] = /^ok +\S+slow\.test\.mjs \((\d+) tests, ([\d.]+) s\)$/m.exec(stdout) ?? [];
  assert.equal(tests, "1", stdout);
  assert.ok(Number(seconds) >= busyMs / 1000, stdout);
});
