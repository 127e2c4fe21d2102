import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { release, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { unprivileged } from "./data-home.ts";
import { inheritedEnvironment } from "./environment.ts";
import { readKernelConfig, readNodeFacts, whyNoNodes } from "./node-check.ts";

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

const checksWith = async (env: Readonly<Record<string, string>>): Promise<readonly string[]> =>
  ((await whyNoNodes({ folder: join(folder, "nodes"), env, clusters: 0 })) ?? "")
    .split(/(?:^.*?: |; )(?=\[)/)
    .slice(1);

test("a machine is asked without leaving anything, and its answer does not depend on when", async () => {
  const nodes = join(folder, "nodes");
  const first = await readNodeFacts({ folder: nodes });
  assert.deepEqual(await readdir(nodes), []);
  assert.ok(first.freeDiskMiB > 0 && first.freeMemoryMiB > 0);
  const again = await readNodeFacts({ folder: nodes });
  const lasting = ({ trial, kernelConfig, missingPrograms }: typeof first): object => ({
    trial,
    kernelConfig,
    missingPrograms,
  });
  assert.deepEqual(lasting(again), lasting(first));
});

test("programs that are not on the path are named, and nothing is tried", async () => {
  const facts = await readNodeFacts({ folder, env: { PATH: join(folder, "nothing") } });
  assert.deepEqual(facts.missingPrograms, ["unshare", "nsenter", "mount", "umount"]);
  assert.equal(facts.trial.size, 0);
});

test("an ordinary user is told to be root, and nothing is tried", onlyRoot, async () => {
  const script = `
    const { readNodeFacts } = await import(${JSON.stringify(new URL("node-check.ts", import.meta.url).href)});
    const { nodeRefusal } = await import(${JSON.stringify(new URL("node-check.ts", import.meta.url).href)});
    const facts = await readNodeFacts({ folder: ${JSON.stringify(folder)} });
    console.log(facts.trial.size, nodeRefusal(facts, 0).match(/\\[[^\\]]+\\]/g).join());`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
    cwd: "/",
    ...unprivileged,
  });
  assert.equal(stdout, "0 [root]\n");
});

test("a machine that refuses namespaces is told so in its own words", onlyNodes, async () => {
  const env = await refusing(
    "unshare",
    "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1",
  );
  const [first = "", ...others] = await checksWith(env);
  assert.match(first, /^\[namespaces\] .+ are refused: unshare: unshare failed: Operation not permitted\./);
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
    assert.ok(overlay.some((problem) => /^\[overlay\] .+: mount: unknown filesystem type/.test(problem)));
    const readOnly = `case "$1" in cgroup/*) echo "mkdir: Read-only file system" >&2; exit 1;; esac
PATH=$(echo "$PATH" | cut -d: -f2-) exec mkdir "$@"`;
    const cgroups = await checksWith(await refusing("mkdir", readOnly));
    assert.ok(cgroups.some((problem) => /^\[cgroups\] .+: mkdir: Read-only file system$/.test(problem)));
    const withoutBridges = `case "$*" in *"type bridge"*) echo "Error: Unknown device type." >&2; exit 2;; esac`;
    const network = await checksWith(await refusing("ip", withoutBridges));
    assert.ok(
      network.some((problem) => /^\[network\] .+ bridge .+: Error: Unknown device type\./.test(problem)),
    );
  },
);

test("the kernel's configuration is read from where kernels leave it", async () => {
  const places: readonly (readonly [path: string, content: string | Buffer])[] = [
    ["proc/config.gz", gzipSync("CONFIG_VETH=y\n")],
    [`boot/config-${release()}`, "CONFIG_VETH=y\n"],
    [`lib/modules/${release()}/config`, "CONFIG_VETH=y\n"],
  ];
  for (const [index, [path, content]] of places.entries()) {
    const root = join(folder, String(index));
    assert.equal(await readKernelConfig(root), undefined);
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
    assert.equal(await readKernelConfig(root), "CONFIG_VETH=y\n", path);
  }
});
