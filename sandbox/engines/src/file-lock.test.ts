import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { acquireFileLock, tryFileLock } from "./file-lock.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-lock-"));
after(() => rm(folder, { recursive: true, force: true }));
const module = JSON.stringify(join(import.meta.dirname, "file-lock.ts"));

/** A process that runs `body` as a module with `acquireFileLock` and `appendFileSync` at hand. */
function run(body: string): ChildProcess {
  const head = `import { acquireFileLock } from ${module}; import { appendFileSync } from "node:fs";`;
  return spawn(process.execPath, ["--input-type=module", "-e", head + body], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

test("many processes that want one lock get it one after the other", async () => {
  const lock = JSON.stringify(join(folder, "many"));
  const log = join(folder, "many.log");
  const body = `
    for (let round = 0; round < 3; round++) {
      await using held = await acquireFileLock(${lock});
      appendFileSync(${JSON.stringify(log)}, "in\\n");
      await new Promise((resolve) => setTimeout(resolve, 3));
      appendFileSync(${JSON.stringify(log)}, "out\\n");
    }`;
  const children = Array.from({ length: 6 }, () => run(body));
  const codes = await Promise.all(
    children.map(async (child): Promise<unknown> => (await once(child, "exit"))[0]),
  );
  assert.deepEqual(codes, [0, 0, 0, 0, 0, 0]);
  assert.equal(await readFile(log, "utf8"), "in\nout\n".repeat(18));
});

test("a lock whose owner was killed is free at once", async () => {
  const path = join(folder, "killed");
  const child = run(
    `const held = await acquireFileLock(${JSON.stringify(path)}); console.log("held"); setInterval(() => held, 1000);`,
  );
  assert.ok(child.stdout);
  await once(child.stdout, "data");
  assert.equal(await tryFileLock(path), undefined);
  child.kill("SIGKILL");
  await once(child, "exit");
  await using lock = await tryFileLock(path);
  assert.ok(lock);
});

test("a process that has to wait is notified once, and an abort ends the waiting", async () => {
  const path = join(folder, "wait");
  await using _held = await acquireFileLock(path);
  const abort = new AbortController();
  let notified = 0;
  const waiting = acquireFileLock(path, { signal: abort.signal, onWait: () => notified++ });
  setTimeout(() => abort.abort(new Error("enough")), 60);
  await assert.rejects(waiting, /enough|aborted/);
  assert.equal(notified, 1);
});

test("a path that cannot be locked is an error that names it, not a lock", async () => {
  const path = join(folder, "not-a-lock");
  await writeFile(path, "a file of somebody else, long enough not to be taken for an empty one".repeat(20));
  await assert.rejects(acquireFileLock(path), /cannot lock .*not-a-lock/);
  await assert.rejects(acquireFileLock(join(path, "below")), /not-a-lock/);
});
