import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readlink, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { type EngineName, engineDefinition } from "./catalog.ts";
import { whyNoNodes } from "./node-check.ts";
import { exists } from "./environment.ts";
import { resolveEngine } from "./resolve.ts";

const run = promisify(execFile);
/** They take minutes to build, and are of no use where there can be no node. */
const options = { skip: (await whyNoNodes({ folder: tmpdir(), clusters: 1 })) ?? false };

test("each program of a node says the version that is pinned", options, async () => {
  const says = async (name: EngineName, ...question: readonly string[]): Promise<string> =>
    (await run(await resolveEngine(name), question)).stdout;
  for (const name of ["kubelet", "kube-proxy", "kube-scheduler"] as const)
    assert.equal(await says(name, "--version"), `Kubernetes ${engineDefinition(name).version}\n`);
  assert.match(
    await says("coredns", "-version"),
    new RegExp(`^CoreDNS-${engineDefinition("coredns").version.slice(1)}$`, "m"),
  );
});

test("the cluster's DNS has every plugin that its configuration may name", options, async () => {
  const { stdout } = await run(await resolveEngine("coredns"), ["-plugins"]);
  const plugins = new Set(stdout.split("\n"));
  const { pathname } = new URL("../pins/coredns/main.go", import.meta.url);
  const source = await readFile(pathname, "utf8");
  const named = /can name ([^.]+)\./.exec(source)?.[1]?.split(/, | and /) ?? [];
  assert.equal(named.length, 12);
  for (const plugin of named) assert.ok(plugins.has(plugin), plugin);
});

test(
  "a Pod's first process takes up the ends of its children, and ends when it is told to",
  options,
  async (t) => {
    const pause = await resolveEngine("pause");
    const script = 'cat <&3 & echo $!; exec "$0"';
    const child = spawn("/bin/sh", ["-c", script, pause], { stdio: ["ignore", "pipe", "inherit", "pipe"] });
    t.after(() => child.kill("SIGKILL"));
    const [, output, , gate] = child.stdio;
    assert.ok(output instanceof Readable && gate instanceof Writable);
    const { value: orphan } = await createInterface({ input: output })[Symbol.asyncIterator]().next();
    while ((await readlink(`/proc/${child.pid}/exe`)) !== (await realpath(pause))) await setTimeout(20);
    gate.end();
    // A zombie keeps its entry there.
    while (await exists(`/proc/${orphan}`)) await setTimeout(20);
    assert.equal(child.exitCode, null);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  },
);
