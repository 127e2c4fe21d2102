import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { inheritedEnvironment } from "./environment.ts";
import { whyNoNodes } from "./node-check.ts";
import { readNodeFacts } from "./node-facts.ts";
import { nodeProblems } from "./node-problems.ts";
import { unprivileged } from "./unprivileged.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "klutch-facts-"));
await chmod(folder, 0o755);
after(() => rm(folder, { recursive: true, force: true }));

const onlyRoot = { skip: unprivileged === undefined ? "only root can become another user" : false };
const onlyNodes = { skip: (await whyNoNodes({ folder, clusters: 0 })) ?? false };

/** A folder for the path with a program that refuses some of its work: only a fake refuses on demand. */
async function refusing(name: string, script: string): Promise<Readonly<Record<string, string>>> {
  const bin = join(folder, `without-${name}`);
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, name), 0o755);
  return { PATH: `${bin}:${inheritedEnvironment["PATH"]}` };
}

const checksWith = async (env: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  const facts = await readNodeFacts({ folder: join(folder, "nodes"), env });
  return nodeProblems(facts, { clusters: 0 }).map(({ check, message }) => `${check}: ${message}`);
};

test("a machine is asked without leaving anything, and its answer does not depend on when", async () => {
  const nodes = join(folder, "nodes");
  const first = await readNodeFacts({ folder: nodes });
  assert.deepEqual(await readdir(nodes), []);
  assert.ok(first.freeDiskMiB > 0 && first.freeMemoryMiB > 0);
  const again = await readNodeFacts({ folder: nodes });
  const lasting = ({ trial, kernel, missingPrograms }: typeof first): object => ({
    trial,
    kernel,
    missingPrograms,
  });
  assert.deepEqual(lasting(again), lasting(first));
});

test("programs that are not on the path are named, and nothing is tried", async () => {
  const facts = await readNodeFacts({ folder, env: { PATH: join(folder, "nothing") } });
  assert.deepEqual(facts.missingPrograms, ["unshare", "nsenter", "mount", "umount"]);
  assert.equal(facts.trial, undefined);
});

test("an ordinary user is told to be root, and nothing is tried", onlyRoot, async () => {
  const script = `
    const { readNodeFacts } = await import(${JSON.stringify(new URL("node-facts.ts", import.meta.url).href)});
    const { nodeProblems } = await import(${JSON.stringify(new URL("node-problems.ts", import.meta.url).href)});
    const facts = await readNodeFacts({ folder: ${JSON.stringify(folder)} });
    console.log(facts.trial, nodeProblems(facts, { clusters: 0 }).map(({ check }) => check).join());`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
    cwd: "/",
    ...unprivileged,
  });
  assert.equal(stdout, "undefined root\n");
});

test("a machine that refuses namespaces is told so in its own words", onlyNodes, async () => {
  const env = await refusing(
    "unshare",
    "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1",
  );
  const [first = "", ...others] = await checksWith(env);
  assert.match(first, /^namespaces: .+ are refused: unshare: unshare failed: Operation not permitted\./);
  assert.deepEqual(others, []);
});

test(
  "a machine that refuses overlayfs, a cgroup hierarchy or a bridge is told which",
  onlyNodes,
  async () => {
    const withoutOverlay = await refusing(
      "mount",
      `case "$*" in *"-t overlay"*) echo "mount: unknown filesystem type 'overlay'." >&2; exit 32;; esac
PATH=$(echo "$PATH" | cut -d: -f2-) exec mount "$@"`,
    );
    const overlay = await checksWith(withoutOverlay);
    assert.ok(overlay.some((problem) => /^overlay: .+: mount: unknown filesystem type/.test(problem)));
    const readOnly = `case "$1" in cgroup/*) echo "mkdir: Read-only file system" >&2; exit 1;; esac
PATH=$(echo "$PATH" | cut -d: -f2-) exec mkdir "$@"`;
    const cgroups = await checksWith(await refusing("mkdir", readOnly));
    assert.ok(cgroups.some((problem) => /^cgroups: .+: mkdir: Read-only file system$/.test(problem)));
    const withoutBridges = `case "$*" in *"type bridge"*) echo "Error: Unknown device type." >&2; exit 2;; esac`;
    const network = await checksWith(await refusing("ip", withoutBridges));
    assert.ok(
      network.some((problem) => /^network: .+ bridge .+: Error: Unknown device type\./.test(problem)),
    );
  },
);
