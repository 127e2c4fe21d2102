import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeFacts } from "./node-facts.ts";
import { type NodeCheck, nodeProblems, nodeRefusal } from "./node-problems.ts";
import type { NodeTrial } from "./node-trial.ts";

const goodTrial: NodeTrial = {
  namespaces: "ok",
  overlay: "ok",
  cgroupVersion: 1,
  missingControllers: [],
  cgroups: new Map([
    ["memory", "ok"],
    ["cpu,cpuacct", "ok"],
  ]),
  veth: "ok",
  bridge: "ok",
  nftables: "ok",
};
const kernel = { veth: true, bridge: true, nftables: true, iptables: true };
const good: NodeFacts = {
  platform: "linux",
  uid: 0,
  missingPrograms: [],
  readsKernelLog: true,
  kernel,
  trial: goodTrial,
  folder: "/nodes",
  freeDiskMiB: 100_000,
  freeMemoryMiB: 16_000,
};
const refused = { words: "Operation not permitted" };
const tried = (change: Partial<NodeTrial>): NodeFacts => ({ ...good, trial: { ...goodTrial, ...change } });
/** Nothing was there to try them with. */
const untried = { veth: undefined, bridge: undefined, nftables: undefined };

test("a machine that has everything has no problem, and neither has one that does not say", () => {
  assert.deepEqual(nodeProblems(good, { clusters: 3 }), []);
  const silent = { veth: undefined, bridge: undefined, nftables: undefined, iptables: undefined };
  assert.deepEqual(nodeProblems({ ...tried(untried), kernel: silent }, { clusters: 1 }), []);
  assert.equal(nodeRefusal([]), undefined);
});

const refusals: readonly (readonly [name: string, facts: NodeFacts, check: NodeCheck, message: RegExp])[] = [
  ["another system", { ...good, platform: "darwin" }, "platform", /^nodes need Linux; this is darwin$/],
  [
    "an ordinary user",
    { ...good, uid: 1000, readsKernelLog: false, trial: undefined },
    "root",
    /needs root; this is user 1000\. Run the command as root$/,
  ],
  [
    "a missing program",
    { ...good, missingPrograms: ["unshare", "nsenter"], trial: undefined },
    "programs",
    /^not on the path: unshare, nsenter\. Install/,
  ],
  ["a closed kernel log", { ...good, readsKernelLog: false }, "kernel-log", /^\/dev\/kmsg cannot be read/],
  [
    "refused namespaces",
    {
      ...tried({
        ...untried,
        namespaces: refused,
        overlay: undefined,
        cgroups: new Map([["cpu", undefined]]),
      }),
    },
    "namespaces",
    /are refused: Operation not permitted\. In a container, run that as privileged$/,
  ],
  [
    "no overlayfs",
    tried({ overlay: { words: "unknown filesystem type 'overlay'" } }),
    "overlay",
    /^overlayfs cannot be mounted in \/nodes: unknown filesystem type 'overlay'\. Load/,
  ],
  [
    "missing controllers",
    tried({ missingControllers: ["cpuset", "pids"] }),
    "cgroups",
    /\(version 1\) has the controllers cpuset, pids\./,
  ],
  [
    "cgroups of version 1 that cannot be made",
    tried({ cgroups: new Map([["memory", { words: "mkdir: Read-only file system" }]]) }),
    "cgroups",
    /hierarchy of memory \(version 1\): mkdir: Read-only file system$/,
  ],
  [
    "cgroups of version 2 that cannot be made",
    tried({ cgroupVersion: 2, cgroups: new Map([["rw", refused]]) }),
    "cgroups",
    /hierarchy \(version 2\): Operation not permitted$/,
  ],
  [
    "veth that was refused although the kernel has it",
    tried({ veth: { words: "Unknown device type" } }),
    "network",
    /type veth can be made: Unknown device type\. Load the module veth$/,
  ],
  [
    "a kernel without bridges where nothing could be tried",
    { ...tried(untried), kernel: { ...kernel, bridge: false } },
    "network",
    /type bridge can be made: the kernel is built without it/,
  ],
  [
    "neither nftables nor iptables",
    { ...tried({ nftables: refused }), kernel: { ...kernel, iptables: false } },
    "packet-filter",
    /neither nftables \(Operation not permitted\) nor iptables/,
  ],
  [
    "a full disk",
    { ...good, freeDiskMiB: 5_999 },
    "disk",
    /^3 clusters need 6000 MiB on the disk of \/nodes, which has 5999 MiB free\. Make room there$/,
  ],
  [
    "too little memory",
    { ...good, freeMemoryMiB: 4_499 },
    "memory",
    /^3 clusters need 4500 MiB of memory; 4499 MiB are free\./,
  ],
];

for (const [name, facts, check, message] of refusals)
  test(`it is named before anything starts: ${name}`, () => {
    const problems = nodeProblems(facts, { clusters: 3 });
    assert.deepEqual(
      problems.map((problem) => problem.check),
      [check],
    );
    assert.match(problems[0]?.message ?? "", message);
  });

test("iptables alone is enough, and what works counts more than what the kernel says", () => {
  const onlyIptables = { ...tried({ nftables: refused }), kernel };
  assert.deepEqual(nodeProblems(onlyIptables, { clusters: 1 }), []);
  const modest = { veth: false, bridge: false, nftables: false, iptables: false };
  assert.deepEqual(nodeProblems({ ...good, kernel: modest }, { clusters: 1 }), []);
});

test("all problems are told at once", () => {
  const problems = nodeProblems(
    { ...tried({ overlay: refused }), freeDiskMiB: 1, freeMemoryMiB: 1 },
    { clusters: 1 },
  );
  assert.match(
    nodeRefusal(problems) ?? "",
    /^this machine cannot run real nodes: \[overlay\] .+; \[disk\] .+; \[memory\] /,
  );
});
