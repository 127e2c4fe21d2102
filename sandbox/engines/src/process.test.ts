import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { EngineError } from "./environment.ts";
import { startProcess } from "./process.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-process-"));
after(() => rm(folder, { recursive: true, force: true }));

const shell = (name: string, script: string) => ({
  name,
  command: "/bin/sh",
  args: ["-c", script],
  logFile: join(folder, `${name}.log`),
});

/** Waits until it is true; fails the test otherwise. */
async function eventually(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!(await isTrue())) {
    if (performance.now() > deadline) assert.fail(`${what} did not happen`);
    await sleep(20);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const fileExists = (name: string) => async (): Promise<boolean> =>
  (await readFile(join(folder, name), "utf8").catch(() => "")) !== "";

test("a server that dies before it is ready is an error with its exit code and the end of its log", async () => {
  const options = {
    ...shell("dies", "echo the disk is full >&2; exit 3"),
    ready: () => Promise.resolve(false),
  };
  await assert.rejects(startProcess(options), (error) => {
    assert.ok(error instanceof EngineError);
    assert.equal(error.code, "ProcessEnded");
    assert.match(error.message, /dies ended with code 3:\nthe disk is full/);
    return true;
  });
});

test("a program that is not there is an error that names it", async () => {
  const options = {
    ...shell("absent", ""),
    command: join(folder, "no-such-program"),
    ready: () => Promise.resolve(false),
  };
  await assert.rejects(startProcess(options), /absent ended with code 127:[^]*no-such-program/);
});

test("a folder that is not there is an error and ends nothing else", async () => {
  const options = {
    ...shell("nowhere", "sleep 60"),
    cwd: join(folder, "none"),
    ready: () => Promise.resolve(false),
  };
  await assert.rejects(startProcess(options), /nowhere ended with code 127/);
});

test("a server that does not get ready is ended, and the error says what the probe saw last", async () => {
  const pidFile = "slow.pid";
  const options = {
    ...shell("slow", `echo $$ > ${join(folder, pidFile)}; echo starting; sleep 60`),
    ready: () => Promise.reject(new Error("connection refused")),
    readyTimeoutMs: 400,
  };
  await assert.rejects(startProcess(options), (error) => {
    assert.ok(error instanceof EngineError);
    assert.equal(error.code, "NotReady");
    assert.match(error.message, /not ready after 0.4 s: Error: connection refused\nstarting/);
    return true;
  });
  const pid = Number(await readFile(join(folder, pidFile), "utf8"));
  await eventually("its end", () => !isAlive(pid));
});

test("a probe that never answers does not hide that the server died or that the caller stopped waiting", async () => {
  const never = (): Promise<boolean> => new Promise(() => undefined);
  await assert.rejects(startProcess({ ...shell("hang-dies", "exit 7"), ready: never }), /ended with code 7/);
  const abort = new AbortController();
  const starting = startProcess({ ...shell("hang", "sleep 60"), ready: never, signal: abort.signal });
  setTimeout(() => abort.abort(new Error("stopped by the user")), 50);
  await assert.rejects(starting, /stopped by the user/);
});

test("stop asks first and kills what does not listen; the exit code says which", async () => {
  const polite = await startProcess({
    ...shell(
      "polite",
      `trap 'exit 5' TERM; echo up > ${join(folder, "polite.up")}; while :; do sleep 0.02; done`,
    ),
    ready: fileExists("polite.up"),
  });
  await polite.stop();
  assert.equal(await polite.exited, 5);
  const stubborn = await startProcess({
    ...shell(
      "stubborn",
      `trap '' TERM; echo up > ${join(folder, "stubborn.up")}; while :; do sleep 0.02; done`,
    ),
    ready: fileExists("stubborn.up"),
    stopTimeoutMs: 100,
  });
  await stubborn.stop();
  assert.equal(await stubborn.exited, 128 + 9);
});

test("processes that a server leaves behind end with it", async () => {
  const pidFile = join(folder, "grandchild.pid");
  const running = await startProcess({
    ...shell("parent", `sleep 60 & echo $! > ${pidFile}; exec sleep 60`),
    ready: fileExists("grandchild.pid"),
  });
  const grandchild = Number(await readFile(pidFile, "utf8"));
  assert.ok(isAlive(grandchild));
  await running.stop();
  await eventually("the grandchild's end", () => !isAlive(grandchild));
});

test("servers and their children end when the process that started them is killed with SIGKILL", async () => {
  const pidFile = join(folder, "orphan.pid");
  const program = join(folder, "starter.mjs");
  const module = JSON.stringify(join(import.meta.dirname, "process.ts"));
  await writeFile(
    program,
    `import { startProcess } from ${module};
     const server = await startProcess({ name: "orphan", command: "/bin/sh", logFile: ${JSON.stringify(join(folder, "orphan.log"))},
       args: ["-c", "sleep 60 & echo $! > ${pidFile}; exec sleep 60"] });
     console.log(server.pid);`,
  );
  const starter = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  const server = Number(String((await once(starter.stdout, "data"))[0]));
  await eventually("the grandchild's start", fileExists("orphan.pid"));
  const grandchild = Number(await readFile(pidFile, "utf8"));
  assert.ok(isAlive(server) && isAlive(grandchild));
  starter.kill("SIGKILL");
  await once(starter, "exit");
  await eventually("the end of both", () => !isAlive(server) && !isAlive(grandchild));
});

test("a server that serves is handed over, and its later end is no unhandled error", async () => {
  const web = createServer((_request, response) => response.end("ok")).listen(0, "127.0.0.1");
  await once(web, "listening");
  const address = web.address();
  assert.ok(typeof address === "object" && address !== null);
  const running = await startProcess({
    ...shell("serves", "sleep 60"),
    ready: async () => (await fetch(`http://127.0.0.1:${address.port}/`)).ok,
  });
  assert.equal(running.hasExited, false);
  await running.kill();
  assert.equal(await running.exited, 137);
  web.closeAllConnections();
  web.close();
});

test("a server's log is for its user's eyes only, also when an older one was there that everybody could read", async () => {
  for (const name of ["fresh", "kept"]) {
    const options = shell(name, "echo said");
    if (name === "kept") await writeFile(options.logFile, "before\n", { mode: 0o644 });
    await using server = await startProcess(options);
    await server.exited;
    assert.equal((await stat(options.logFile)).mode & 0o777, 0o600, name);
  }
  assert.equal(await readFile(join(folder, "kept.log"), "utf8"), "before\nsaid\n");
});
