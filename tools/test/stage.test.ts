import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

const folder = await mkdtemp(join(tmpdir(), "klutch-stage-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Runs the files in one process and returns all that is printed; the last line says the records. */
async function outputOf(files: Readonly<Record<string, string>>): Promise<string> {
  const paths: string[] = [];
  for (const [name, body] of Object.entries(files)) {
    const path = join(folder, `${name}.test.mjs`);
    await writeFile(path, `import { suite, test } from "node:test";\n${body}\n`);
    paths.push(path);
  }
  const stage = new URL("stage.ts", import.meta.url).href;
  const program = `const { printSummary, runStage } = await import(${JSON.stringify(stage)});
const result = await runStage("sample", [[[${JSON.stringify(paths)}]]], { isPatient: true });
console.log(result.records.map(({ name, outcome }) => outcome + " " + name.split("/").at(-1)).toSorted().join());
process.exitCode = printSummary([result]);`;
  const entry = join(folder, "program.mjs");
  await writeFile(entry, program);
  // A runner that knows that it runs in a test of another one reports to that one.
  const ended = promisify(execFile)(process.execPath, [entry], { env: { PATH: process.env["PATH"] } });
  return ended.then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string }) => error.stdout,
  );
}

test("the time of a file has what it sets up outside of its tests, and the file itself counts as no test", async () => {
  const busyMs = 300;
  const slow = `for (const end = performance.now() + ${busyMs}; performance.now() < end; ) await undefined;\ntest("quick", () => {});`;
  const said = await outputOf({ slow });
  const [, tests, seconds] = /^ok +\S+slow\.test\.mjs \((\d+) tests, ([\d.]+) s\)$/m.exec(said) ?? [];
  assert.equal(tests, "1", said);
  assert.ok(Number(seconds) >= busyMs / 1000, said);
  assert.match(said, /^1 passed, 0 failed$/m);
});

test("files that share a process are told apart, and one that cannot be loaded is a failed test", async () => {
  const said = await outputOf({
    good: 'suite("s", () => { test("inner", () => {}); });\ntest.skip("later", () => {});',
    bad: 'test("bad", () => { throw new Error("as wanted"); });',
    broken: 'throw new Error("not loaded");',
  });
  assert.match(said, /^failed bad,failed broken\.test\.mjs,passed inner,skipped later$/m);
  assert.match(said, /^FAILED \S+bad\.test\.mjs: bad\nError: as wanted$/m);
  assert.match(said, /^FAILED \S+broken\.test\.mjs \(1 tests, /m);
  assert.match(said, /^ok +\S+good\.test\.mjs \(2 tests, /m);
  assert.match(said, /^1 passed, 2 failed, 1 skipped$/m);
});

test("a file that fails only after its tests have passed fails", async () => {
  const said = await outputOf({
    late: 'test("good", () => {});\nprocess.on("exit", () => (process.exitCode = 3));',
  });
  assert.match(said, /^failed late\.test\.mjs,passed good$/m);
});

test("an error that no test catches ends the process at once, is printed, and fails the file that ran", async () => {
  const said = await outputOf({
    first: 'test("good", () => {});',
    thrown: `test("hangs", () => new Promise(() => {
  setTimeout(() => { throw new Error("from a timer"); });
  setInterval(() => {}, 1000);
}));`,
  });
  assert.match(said, /An error that no test caught: Error: from a timer/);
  assert.match(said, /^failed this file or one that shares its process,passed good$/m);
  const rejected = await outputOf({
    rejected:
      'test("hangs", async () => { Promise.reject(new Error("lost")); await new Promise((done) => setTimeout(done, 5000)); });',
  });
  assert.match(rejected, /An error that no test caught: Error: lost/);
  assert.match(rejected, /^0 passed, 1 failed$/m);
});

test("no promise of a test is followed by an async hook, in a file of its own or one that shares its process", async () => {
  const hooks = `import { triggerAsyncId } from "node:async_hooks";
import assert from "node:assert";
// Node gives promises ids of their own only while a hook follows them.
test("unfollowed", async () => { const before = triggerAsyncId(); await undefined; await undefined; assert.equal(triggerAsyncId(), before); });`;
  assert.match(await outputOf({ hooks }), /^passed unfollowed$/m);
  assert.match(await outputOf({ hooks, again: hooks }), /^passed unfollowed,passed unfollowed$/m);
});

test("files that share a process have all set up before the first test runs", async () => {
  const slow = `globalThis.log = [];\nawait new Promise((done) => setTimeout(done, 100));\nlog.push("set up");`;
  const said = await outputOf({
    first: 'import assert from "node:assert";\ntest("first", () => assert.deepEqual(log, ["set up"]));',
    second: slow,
  });
  assert.match(said, /^passed first$/m);
});
