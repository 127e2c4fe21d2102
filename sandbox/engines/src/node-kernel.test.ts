import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { release, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { kernelFeatures, readKernelFeatures } from "./node-kernel.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-kernel-"));
after(() => rm(folder, { recursive: true, force: true }));

test("the kernel's configuration counts, built in or as a module", () => {
  const config =
    "CONFIG_VETH=y\nCONFIG_BRIDGE=m\n# CONFIG_NF_TABLES is not set\nCONFIG_IP_NF_IPTABLES_LEGACY=y\n";
  assert.deepEqual(kernelFeatures({ config, modules: "kernel/net/nf_tables.ko:\n" }), {
    veth: true,
    bridge: true,
    nftables: false,
    iptables: false,
  });
});

test("without one the lists of modules count, and without both nothing is said", () => {
  const modules = [
    "kernel/drivers/net/veth.ko",
    "kernel/net/bridge/br_netfilter.ko.xz: kernel/net/bridge/bridge.ko.xz",
    "kernel/net/bridge/bridge.ko.xz:",
    "ip_tables 28672 1 iptable_nat, Live 0x0000000000000000",
  ].join("\n");
  assert.deepEqual(kernelFeatures({ config: undefined, modules }), {
    veth: true,
    bridge: true,
    nftables: false,
    iptables: true,
  });
  const silent = { veth: undefined, bridge: undefined, nftables: undefined, iptables: undefined };
  assert.deepEqual(kernelFeatures({ config: undefined, modules: undefined }), silent);
});

test("it is read from where kernels leave it", async () => {
  const places: readonly (readonly [path: string, content: string | Buffer])[] = [
    ["proc/config.gz", gzipSync("CONFIG_VETH=y\n")],
    [`boot/config-${release()}`, "CONFIG_VETH=m\n"],
    [`lib/modules/${release()}/config`, "CONFIG_VETH=y\n"],
    [`lib/modules/${release()}/modules.builtin`, "kernel/drivers/net/veth.ko\n"],
  ];
  for (const [index, [path, content]] of places.entries()) {
    const root = join(folder, String(index));
    assert.equal((await readKernelFeatures(root)).veth, undefined);
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
    const { veth, bridge } = await readKernelFeatures(root);
    assert.deepEqual([veth, bridge], [true, false], path);
  }
});
