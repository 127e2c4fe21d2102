/** Debian's own packages, with this machine's apt: what nodes need runs from a private folder, and nothing is installed. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { resolveDebian, resolveNodePrograms } from "./debian.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "klutch-node-programs-"));
await chmod(folder, 0o755);
after(() => rm(folder, { recursive: true, force: true }));
/** Nothing counts as installed. */
const installedRoot = join(folder, "empty");

test("everything that a node runs from Debian works from a private folder, by path and by name", async () => {
  const programs = await resolveNodePrograms({ installedRoot, cacheFolder: join(folder, "cache") });
  const says = async (program: string, question = "--version"): Promise<string> => {
    const path = programs.path(program);
    assert.ok(path.startsWith(folder), path);
    const { stdout, stderr } = await run(path, [question], { env: programs.env });
    return stdout + stderr;
  };
  assert.match(await says("containerd"), /containerd\S* v?1\./);
  assert.match(await says("containerd-shim-runc-v2", "-v"), /Version: +v?1\./);
  assert.match(await says("ctr"), /^ctr \S+ v?1\./);
  assert.match(await says("runc"), /^runc version 1\.[^]*libseccomp: /);
  assert.match(await says("nft"), /^nftables v1\./);
  assert.match(await says("iptables"), /^iptables v1\.\S+ \(nf_tables\)/);
  assert.match(await says("ip6tables-restore"), /^ip6tables-restore v1\./);
  assert.match(await says("conntrack"), /^conntrack v1\./);
  assert.match(await says("ip", "-V"), /^ip utility/);
  // An extension is loaded when its help is asked for.
  const helpOf = ["-m", "comment", "--help"];
  const { stdout: help } = await run(programs.path("iptables"), helpOf, { env: programs.env });
  assert.match(help, /comment match options/);
  const { stdout: which } = await run("/bin/sh", ["-c", "command -v nft iptables runc"], {
    env: programs.env,
  });
  for (const path of which.trim().split("\n")) assert.ok(path.startsWith(folder), path);
  for (const plugin of ["bridge", "host-local", "loopback", "portmap"])
    assert.equal(programs.path(plugin), join(programs.pluginFolder, plugin));
  const env = { ...programs.env, CNI_COMMAND: "VERSION" };
  const asked = run(programs.path("bridge"), [], { env });
  asked.child.stdin?.end('{"cniVersion":"1.0.0"}');
  assert.match((await asked).stdout, /"supportedVersions":/);
});

test("the program for test images needs no library, even where another one of its name is installed", async () => {
  const programs = await resolveDebian("busybox");
  assert.notEqual(programs.root, "/");
  const busybox = programs.path("busybox");
  // This PATH has nothing else: no loader and no library.
  const env = { PATH: "/nowhere" };
  const { stdout } = await run(busybox, ["sh", "-c", "echo static"], { env });
  assert.equal(stdout, "static\n");
  const loaded = await run(busybox, ["sh", "-c", "busybox cat /proc/self/maps"], { env });
  assert.doesNotMatch(loaded.stdout, /\.so/);
});
