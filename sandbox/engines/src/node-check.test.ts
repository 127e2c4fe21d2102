import assert from "node:assert/strict";
import { test } from "node:test";
import { type NodeFacts, nodeRefusal } from "./node-check.ts";

const hierarchies = ["cpu,cpuacct", "cpuset", "devices", "freezer", "memory", "pids"];
const tried = [
  "namespaces",
  "overlay",
  "veth",
  "bridge",
  "nftables",
  ...hierarchies.map((name) => `cgroup ${name}`),
];
const goodTrial: ReadonlyMap<string, string> = new Map(tried.map((name) => [name, ""]));
const kernelConfig = "CONFIG_VETH=y\nCONFIG_BRIDGE=m\nCONFIG_NF_TABLES=m\n";
const good: NodeFacts = {
  platform: "linux",
  uid: 0,
  missingPrograms: [],
  readsKernelLog: true,
  kernelConfig,
  hierarchies,
  trial: goodTrial,
  folder: "/nodes",
  freeDiskMiB: 100_000,
  freeMemoryMiB: 16_000,
};
const untried = new Map<string, string>();
const refusing = (name: string, words: string): NodeFacts => ({
  ...good,
  trial: new Map([...goodTrial, [name, words]]),
});

test("a machine that has everything has no problem, and neither has one that does not say", () => {
  assert.equal(nodeRefusal(good, 3), undefined);
  assert.equal(nodeRefusal({ ...good, trial: untried }, 1), undefined);
  assert.equal(nodeRefusal({ ...good, trial: untried, kernelConfig: undefined }, 1), undefined);
});

const refusals: readonly (readonly [name: string, facts: NodeFacts, problem: RegExp])[] = [
  ["another system", { ...good, platform: "darwin" }, /^\[platform\] nodes need Linux; this is darwin$/],
  [
    "an ordinary user",
    { ...good, uid: 1000, readsKernelLog: false, hierarchies: [], trial: untried },
    /^\[root\] .+ needs root; this is user 1000\. Run the command as root$/,
  ],
  [
    "a missing program",
    { ...good, missingPrograms: ["unshare", "nsenter"], trial: untried },
    /^\[programs\] not on the path: unshare, nsenter\. Install/,
  ],
  ["a closed kernel log", { ...good, readsKernelLog: false }, /^\[kernel-log\] \/dev\/kmsg cannot be read/],
  [
    "refused namespaces",
    { ...good, trial: new Map([["namespaces", "Operation not permitted"]]) },
    /^\[namespaces\] .+ are refused: Operation not permitted\. In a container, run that as privileged$/,
  ],
  [
    "no overlayfs",
    refusing("overlay", "unknown filesystem type 'overlay'"),
    /^\[overlay\] overlayfs cannot be mounted in \/nodes: unknown filesystem type 'overlay'\. Load/,
  ],
  [
    "missing controllers",
    { ...good, hierarchies: hierarchies.filter((name) => !/^(?:cpuset|pids)$/.test(name)) },
    /^\[cgroups\] .+ \(version 1\) has the controllers cpuset, pids\./,
  ],
  [
    "cgroups of version 2 only, which nodes cannot use",
    { ...good, hierarchies: [] },
    /^\[cgroups\] .+ \(version 1\) has the controllers cpu, cpuacct, cpuset, /,
  ],
  [
    "cgroups that cannot be made",
    refusing("cgroup memory", "mkdir: Read-only file system"),
    /^\[cgroups\] .+ in the hierarchy of memory: mkdir: Read-only file system$/,
  ],
  [
    "veth that was refused although the kernel has it",
    refusing("veth", "Unknown device type"),
    /^\[network\] .+ type veth can be made: Unknown device type\. Load the module veth$/,
  ],
  [
    "a kernel without bridges where nothing could be tried",
    {
      ...good,
      trial: untried,
      kernelConfig: "CONFIG_VETH=y\n# CONFIG_BRIDGE is not set\nCONFIG_NF_TABLES=y\n",
    },
    /^\[network\] .+ type bridge can be made: the kernel is built without it/,
  ],
  [
    "a kernel without nftables, whatever else it has",
    {
      ...good,
      trial: untried,
      kernelConfig: "CONFIG_VETH=y\nCONFIG_BRIDGE=y\nCONFIG_NF_TABLES_INET=y\nCONFIG_IP_NF_IPTABLES=y\n",
    },
    /^\[packet-filter\] nftables cannot be used, .+: the kernel is built without it\. Load the module nf_tables$/,
  ],
  [
    "a full disk",
    { ...good, freeDiskMiB: 5_999 },
    /^\[disk\] 3 clusters need 6000 MiB on the disk of \/nodes, which has 5999 MiB free\. Make room there$/,
  ],
  [
    "too little memory",
    { ...good, freeMemoryMiB: 4_499 },
    /^\[memory\] 3 clusters need 4500 MiB of memory; 4499 MiB are free\./,
  ],
];

for (const [name, facts, problem] of refusals)
  test(`it is named before anything starts: ${name}`, () => {
    const [head, ...problems] = (nodeRefusal(facts, 3) ?? "").split(/: (?=\[)|; (?=\[)/);
    assert.equal(head, "this machine cannot run real nodes");
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", problem);
  });

test("a successful trial counts more than the kernel's configuration", () => {
  assert.equal(nodeRefusal({ ...good, kernelConfig: "" }, 1), undefined);
});

test("all problems are told at once", () => {
  assert.match(
    nodeRefusal({ ...refusing("overlay", "refused"), freeDiskMiB: 1, freeMemoryMiB: 1 }, 1) ?? "",
    /^this machine cannot run real nodes: \[overlay\] .+; \[disk\] .+; \[memory\] /,
  );
});
