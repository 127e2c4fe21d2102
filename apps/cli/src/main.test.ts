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
import { TransportError } from "@klutch/kube";
import { errorText, providerName } from "./errors.ts";
import { createTerminal } from "./terminal.ts";

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the executable under one of its names. */
async function run(
  t: TestContext,
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-main-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, name);
  await symlink(join(import.meta.dirname, "main.ts"), path);
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env } };
    const child = execFile(process.execPath, [path, ...args], options, (error, stdout, stderr) => {
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

function kubeconfigFor(server: string): string {
  return JSON.stringify({
    "current-context": "prod-eu",
    contexts: [{ name: "prod-eu", context: { cluster: "one", user: "one" } }],
    clusters: [{ name: "one", cluster: { server } }],
    users: [{ name: "one", user: {} }],
  });
}

test("a cluster that does not answer is named by context and server, with what to do, by every command that connects", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-main-"));
  t.after(() => rm(folder, { recursive: true }));
  const config = join(folder, "config");
  await writeFile(config, kubeconfigFor("https://127.0.0.1:1"));
  const api = "widgets.example.org";
  for (const [code, ...args] of [
    [2, "doctor"],
    [1, "unbind", "--all"],
    [1, "hand-back"],
    [1, "release", api],
    [1, "upgrade", "--check"],
    [1, "verify", config, config],
  ] as const) {
    const failed = await run(t, "klutch", args, { KUBECONFIG: config });
    assert.equal(failed.code, code, args.join(" "));
    assert.match(
      failed.stderr,
      /error: The cluster of context prod-eu \(https:\/\/127\.0\.0\.1:1\) does not answer \(connection refused: nothing listens there\)\. Check .*--context or --kubeconfig\.\n$/,
    );
  }
});

test("a control plane that does not answer is not taken for the app cluster", () => {
  const cluster = { name: providerName, server: "https://cp.example.org" };
  const cause = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
  const failure = new TransportError("NotResolved", "GET x: getaddrinfo", { cause, cluster });
  assert.match(
    errorText(failure),
    /^The control plane at https:\/\/cp\.example\.org does not answer \(the host name is not known\)\. Check/,
  );
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
  await writeFile(join(folder, "config"), kubeconfigFor(server));
  const waiting = spawn(process.execPath, [path, "doctor", `--kubeconfig=${join(folder, "config")}`]);
  const ended = once(waiting, "exit");
  // A command that ends without asking the server fails the comparison instead of waiting for ever.
  await Promise.race([once(silent, "connection"), ended]);
  const killedAt = performance.now();
  waiting.kill("SIGINT");
  assert.deepEqual(await ended, [130, null]);
  // The server took the connection and says nothing, which is given up after ten seconds.
  const tookMs = performance.now() - killedAt;
  assert.ok(tookMs < 9_000, `it ended ${tookMs.toFixed(0)} ms after Ctrl-C`);
  const script = `'${process.execPath}' '${path}' --help 2>errors | true`;
  const piped = spawn("bash", ["-o", "pipefail", "-c", script], { cwd: folder });
  assert.deepEqual(await once(piped, "exit"), [0, null]);
  assert.equal(await readFile(join(folder, "errors"), "utf8"), "");
});
