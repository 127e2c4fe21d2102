import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildEngine } from "./build.ts";
import { engineDefinition } from "./catalog.ts";
import { acquireFileLock, isRunning } from "./file-lock.ts";
import { fetchPrebuilt, prebuiltName } from "./prebuilt.ts";
import { reservePorts } from "./ports.ts";
import { startProcess } from "./process.ts";
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

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, "the condition did not come true");
    await sleep(20);
  }
}

test("two who want the same lock have it one after the other", async () => {
  const path = join(folder, "a.lock");
  const first = await acquireFileLock(path);
  let waited = 0;
  const second = acquireFileLock(path, { onWait: (pid) => void (waited = pid) });
  await until(() => waited === process.pid);
  await first[Symbol.asyncDispose]();
  await (await second)[Symbol.asyncDispose]();
});

test("a lock whose owner has died is taken over", async () => {
  const child = spawn("true");
  await once(child, "exit");
  const path = join(folder, "stale.lock");
  await writeFile(path, String(child.pid));
  await using _lock = await acquireFileLock(path);
  assert.equal(await readFile(path, "utf8"), String(process.pid));
});

test("a lock file that names nobody is taken over once it is old", async () => {
  const path = join(folder, "nameless.lock");
  await writeFile(path, "not a process id");
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(path, longAgo, longAgo);
  await using _lock = await acquireFileLock(path);
  assert.equal(await readFile(path, "utf8"), String(process.pid));
});

test("reserved ports are not given out twice", async () => {
  await using first = await reservePorts(5);
  await using second = await reservePorts(5);
  assert.equal(new Set([...first.ports, ...second.ports]).size, 10);
});

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
  assert.deepEqual(await readdir(join(cacheFolder, "engines", "crane")), []);
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

test("a process that ends before it is ready shows the end of its log", async () => {
  const options = {
    name: "server",
    command: "/bin/sh",
    args: ["-c", "echo port is taken >&2; exit 3"],
    logFile: join(folder, "server.log"),
    ready: () => Promise.resolve(false),
  };
  await assert.rejects(startProcess(options), {
    code: "ProcessEnded",
    message: /ended with code 3:\n[\s\S]*port is taken/,
  });
});

test("a server ends when the process that started it is killed", async () => {
  const pidFile = join(folder, "server.pid");
  const program = `import { startProcess } from ${JSON.stringify(join(import.meta.dirname, "process.ts"))};
    await startProcess({ name: "s", command: "/bin/sh", args: ["-c", "echo $$ > ${pidFile}; exec sleep 600"], logFile: ${JSON.stringify(join(folder, "s.log"))} });
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
    stdio: "ignore",
  });
  let server = 0;
  while (server === 0) {
    server = Number(await readFile(pidFile, "utf8").catch(() => ""));
    await sleep(20);
  }
  assert.ok(isRunning(server));
  parent.kill("SIGKILL");
  await until(() => !isRunning(server));
});
