import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { klutchVersion } from "@klutch/api";
import { createTerminal } from "./terminal.ts";

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the executable under one of its names. */
async function run(t: TestContext, name: string, args: readonly string[]): Promise<Finished> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-main-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, name);
  await symlink(join(import.meta.dirname, "main.ts"), path);
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [path, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
    child.stdin?.end();
  });
}

test("one executable, two names", async (t) => {
  const [plugin, klutch] = await Promise.all([
    run(t, "kubectl-bind", ["--help"]),
    run(t, "klutch", ["--help"]),
  ]);
  assert.match(plugin.stdout, /^Usage: kubectl-bind .*\[url\]/);
  assert.match(klutch.stdout, /^Usage: klutch /);
  assert.equal((await run(t, "klutch", ["--version"])).stdout.trim(), klutchVersion);
});

test("a failure is one line on standard error and exit code 1, without a stack", async (t) => {
  const failed = await run(t, "kubectl-bind", ["provider.test"]);
  assert.deepEqual(failed, {
    code: 1,
    stdout: "",
    stderr: "error: provider.test is not an address; it must start with http:// or https://.\n",
  });
});

test("a registry that is none is refused before anything is asked, by bind and bind apiservice", async (t) => {
  const wrong = "--registry=oci://mirror.example.org";
  for (const args of [
    ["https://provider.test/export", wrong],
    ["apiservice", "-f", "-", "--remote-kubeconfig", "none", wrong],
  ]) {
    const failed = await run(t, "kubectl-bind", args);
    assert.deepEqual([failed.code, failed.stdout], [1, ""]);
    assert.match(
      failed.stderr,
      /^error: --registry: is "oci:\/\/mirror.example.org", which has a scheme; expected/,
    );
  }
});

test("without a terminal, lines are read one by one and waiting is a plain line", async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  using terminal = createTerminal({ stdin, stdout, stderr });
  assert.equal(terminal.interactive, false);
  stdin.end("yes\nno");
  assert.deepEqual(
    [await terminal.readLine(), await terminal.readLine(), await terminal.readLine()],
    ["yes", "no", undefined],
  );
  terminal.waiting("Waiting for x")();
  terminal.say("said");
  terminal.out("data");
  stderr.end();
  stdout.end();
  assert.deepEqual([await text(stderr), await text(stdout)], ["Waiting for x …\nsaid\n", "data"]);
});

test("the whole of standard input can be a manifest", async () => {
  const stdin = new PassThrough();
  using terminal = createTerminal({ stdin, stdout: new PassThrough(), stderr: new PassThrough() });
  stdin.end("a: 1\nb: 2\n");
  assert.equal(await terminal.readAll(), "a: 1\nb: 2\n");
});

test("Ctrl-C ends a command with exit code 130, and a reader that has seen enough ends it quietly", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-main-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "klutch");
  await symlink(join(import.meta.dirname, "main.ts"), path);
  const silent = createServer().listen(0, "127.0.0.1");
  t.after(() => silent.close());
  await once(silent, "listening");
  const address = silent.address();
  assert.ok(typeof address === "object" && address !== null);
  const server = `https://127.0.0.1:${address.port}`;
  const kubeconfig = {
    "current-context": "silent",
    contexts: [{ name: "silent", context: { cluster: "silent", user: "silent" } }],
    clusters: [{ name: "silent", cluster: { server } }],
    users: [{ name: "silent", user: {} }],
  };
  await writeFile(join(folder, "config"), JSON.stringify(kubeconfig));
  const waiting = spawn(process.execPath, [path, "doctor", `--kubeconfig=${join(folder, "config")}`]);
  const ended = once(waiting, "exit");
  // A command that ends without asking the server fails the comparison instead of waiting for ever.
  await Promise.race([once(silent, "connection"), ended]);
  waiting.kill("SIGINT");
  assert.deepEqual(await ended, [130, null]);
  const script = `'${process.execPath}' '${path}' --help 2>errors | true`;
  const piped = spawn("bash", ["-o", "pipefail", "-c", script], { cwd: folder });
  assert.deepEqual(await once(piped, "exit"), [0, null]);
  assert.equal(await readFile(join(folder, "errors"), "utf8"), "");
});
