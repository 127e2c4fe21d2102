/** Whether real nodes can run on a machine: each thing that is missing by name, before anything starts. */
import type { NodeFacts } from "./node-facts.ts";
import type { Outcome } from "./node-trial.ts";

/** What is looked at. */
export type NodeCheck =
  | "platform"
  | "root"
  | "programs"
  | "namespaces"
  | "cgroups"
  | "overlay"
  | "kernel-log"
  | "network"
  | "packet-filter"
  | "disk"
  | "memory";

/** One thing that a machine lacks. */
export interface NodeProblem {
  readonly check: NodeCheck;
  /** What was found, what is needed, and what to do. */
  readonly message: string;
}

/** What the nodes are to hold. */
export interface NodePlan {
  /** Clusters of one node each. */
  readonly clusters: number;
}

/** MiB for each cluster: its servers, Crossplane and a dozen small Pods; its images, unpacked, and its data. */
const perCluster = { memory: 1_500, disk: 2_000 };

/** Everything that the machine lacks for the plan, the most important first. Empty when nodes can be tried. */
export function nodeProblems(facts: NodeFacts, plan: NodePlan): readonly NodeProblem[] {
  if (facts.platform !== "linux")
    return [{ check: "platform", message: `nodes need Linux; this is ${facts.platform}` }];
  return [
    ...ofPrivilege(facts),
    ...ofNamespaces(facts),
    ...ofCgroups(facts),
    ...ofNetwork(facts),
    ...ofRoom(facts, plan),
  ];
}

/** All problems in one text, for an error or for what a skipped test says. Undefined when there are none. */
export function nodeRefusal(problems: readonly NodeProblem[]): string | undefined {
  if (problems.length === 0) return undefined;
  return `this machine cannot run real nodes: ${problems.map(({ check, message }) => `[${check}] ${message}`).join("; ")}`;
}

function ofPrivilege({ uid, missingPrograms, readsKernelLog }: NodeFacts): readonly NodeProblem[] {
  const problems: NodeProblem[] = [];
  if (uid !== 0)
    problems.push({
      check: "root",
      message: `nodes make namespaces, mounts and cgroups, which needs root; this is user ${uid}. Run the command as root`,
    });
  if (missingPrograms.length > 0)
    problems.push({
      check: "programs",
      message: `not on the path: ${missingPrograms.join(", ")}. Install the package util-linux and mount`,
    });
  if (uid === 0 && !readsKernelLog)
    problems.push({
      check: "kernel-log",
      message:
        "/dev/kmsg cannot be read, and a kubelet ends without it. In a container, run that as privileged or give it /dev/kmsg",
    });
  return problems;
}

function ofNamespaces({ trial, folder }: NodeFacts): readonly NodeProblem[] {
  const problems: NodeProblem[] = [];
  const namespaces = wordsOf(trial?.namespaces);
  if (namespaces !== undefined)
    problems.push({
      check: "namespaces",
      message: `namespaces of mounts, network, processes, host name and cgroups are refused: ${namespaces}. In a container, run that as privileged`,
    });
  const overlay = wordsOf(trial?.overlay);
  if (overlay !== undefined)
    problems.push({
      check: "overlay",
      message: `overlayfs cannot be mounted in ${folder}: ${overlay}. Load the module overlay, or choose a folder of another file system`,
    });
  return problems;
}

function ofCgroups({ trial }: NodeFacts): readonly NodeProblem[] {
  if (trial === undefined) return [];
  const { cgroupVersion: version, missingControllers: missing, cgroups } = trial;
  const problems: NodeProblem[] = [];
  if (missing.length > 0)
    problems.push({
      check: "cgroups",
      message: `no cgroup hierarchy (version ${version}) has the controllers ${missing.join(", ")}. Turn them on in the kernel, or for this container`,
    });
  for (const [option, outcome] of cgroups) {
    const words = wordsOf(outcome);
    const name = version === 1 ? `of ${option} (version 1)` : "(version 2)";
    if (words !== undefined)
      problems.push({
        check: "cgroups",
        message: `no cgroup can be made in the hierarchy ${name}: ${words}`,
      });
  }
  return problems;
}

/** What was tried counts more than what the kernel says of itself. */
function ofNetwork({ trial, kernel }: NodeFacts): readonly NodeProblem[] {
  const problems: NodeProblem[] = [];
  for (const name of ["veth", "bridge"] as const) {
    const words = wordsOf(trial?.[name]);
    if (words === undefined && (trial?.[name] === "ok" || kernel[name] !== false)) continue;
    const why = words ?? "the kernel is built without it";
    problems.push({
      check: "network",
      message: `no network device of type ${name} can be made: ${why}. Load the module ${name}`,
    });
  }
  const noNftables =
    wordsOf(trial?.nftables) ?? (kernel.nftables === false ? "it is not built in" : undefined);
  const hasNftables = trial?.nftables === "ok" || noNftables === undefined;
  if (!hasNftables && kernel.iptables === false)
    problems.push({
      check: "packet-filter",
      message: `the kernel has neither nftables (${noNftables}) nor iptables, so Services have no addresses. Load the module nf_tables or ip_tables`,
    });
  return problems;
}

function ofRoom(facts: NodeFacts, { clusters }: NodePlan): readonly NodeProblem[] {
  const { freeDiskMiB, freeMemoryMiB, folder } = facts;
  const disk = clusters * perCluster.disk;
  const memory = clusters * perCluster.memory;
  const problems: NodeProblem[] = [];
  if (freeDiskMiB < disk)
    problems.push({
      check: "disk",
      message: `${clusters} clusters need ${disk} MiB on the disk of ${folder}, which has ${freeDiskMiB} MiB free. Make room there`,
    });
  if (freeMemoryMiB < memory)
    problems.push({
      check: "memory",
      message: `${clusters} clusters need ${memory} MiB of memory; ${freeMemoryMiB} MiB are free. End other programs, or ask for fewer clusters`,
    });
  return problems;
}

function wordsOf(outcome: Outcome): string | undefined {
  return typeof outcome === "object" ? outcome.words : undefined;
}
