/** Says whether real nodes can run on this machine: names each thing that is missing, before anything starts. */
import { type NodeFacts, type NodeFactsOptions, readNodeFacts } from "./node-facts.ts";

/** MiB for each cluster: its servers, Crossplane and a dozen small Pods; its images, unpacked, and its data. */
const perCluster = { memory: 1_500, disk: 2_000 };

/** Controllers that kubelet and runc require. */
const neededControllers = ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"];

/**
 * Returns everything that this machine lacks for `clusters` clusters of one node each, in one text; undefined when they can start. Takes
 * well below a second and changes nothing, so it is asked before anything is obtained or started, and by tests that are skipped without it.
 */
export async function whyNoNodes(
  options: NodeFactsOptions & { readonly clusters: number },
): Promise<string | undefined> {
  return nodeRefusal(await readNodeFacts(options), options.clusters);
}

/** Does the same for facts that were read: the most important problem comes first. */
export function nodeRefusal(facts: NodeFacts, clusters: number): string | undefined {
  const problems =
    facts.platform === "linux"
      ? [...ofPrivilege(facts), ...ofTrial(facts), ...ofNetwork(facts), ...ofRoom(facts, clusters)]
      : [`[platform] nodes need Linux; this is ${facts.platform}`];
  return problems.length === 0 ? undefined : `this machine cannot run real nodes: ${problems.join("; ")}`;
}

function* ofPrivilege({ uid, missingPrograms, readsKernelLog }: NodeFacts): Generator<string> {
  if (uid !== 0)
    yield `[root] nodes make namespaces, mounts and cgroups, which needs root; this is user ${uid}. Run the command as root`;
  if (missingPrograms.length > 0)
    yield `[programs] not on the path: ${missingPrograms.join(", ")}. Install the packages util-linux and mount`;
  if (uid === 0 && !readsKernelLog)
    yield "[kernel-log] /dev/kmsg cannot be read, and a kubelet ends without it. In a container, run that as privileged or give it /dev/kmsg";
}

function* ofTrial({ trial, folder, uid, hierarchies }: NodeFacts): Generator<string> {
  const namespaces = trial.get("namespaces");
  if (namespaces)
    yield `[namespaces] namespaces of mounts, network, processes, host name and cgroups are refused: ${namespaces}. In a container, run that as privileged`;
  const overlay = trial.get("overlay");
  if (overlay)
    yield `[overlay] overlayfs cannot be mounted in ${folder}: ${overlay}. Load the module overlay, or choose a folder of another file system`;
  const present = new Set(hierarchies.flatMap((names) => names.split(",")));
  const missing = neededControllers.filter((name) => !present.has(name));
  if (uid === 0 && missing.length > 0)
    yield `[cgroups] no cgroup hierarchy (version 1) has the controllers ${missing.join(", ")}. Turn them on in the kernel, or for this container`;
  for (const hierarchy of hierarchies) {
    const words = trial.get(`cgroup ${hierarchy}`);
    if (words) yield `[cgroups] no cgroup can be made in the hierarchy of ${hierarchy}: ${words}`;
  }
}

/** Lists missing network features. The trial's result wins over the kernel's configuration, which is used if nothing could be tried. */
function* ofNetwork({ trial, kernelConfig }: NodeFacts): Generator<string> {
  const refused = (name: string, option: string): string | undefined => {
    const isAbsent = kernelConfig !== undefined && !new RegExp(`^${option}=[ym]$`, "m").test(kernelConfig);
    return trial.get(name) ?? (isAbsent ? "the kernel is built without it" : undefined);
  };
  for (const name of ["veth", "bridge"]) {
    const why = refused(name, `CONFIG_${name.toUpperCase()}`);
    if (why) yield `[network] no network device of type ${name} can be made: ${why}. Load the module ${name}`;
  }
  const why = refused("nftables", "CONFIG_NF_TABLES");
  if (why)
    yield `[packet-filter] nftables cannot be used, so Services have no addresses: ${why}. Load the module nf_tables`;
}

function* ofRoom({ freeDiskMiB, freeMemoryMiB, folder }: NodeFacts, clusters: number): Generator<string> {
  const disk = clusters * perCluster.disk;
  if (freeDiskMiB < disk)
    yield `[disk] ${clusters} clusters need ${disk} MiB on the disk of ${folder}, which has ${freeDiskMiB} MiB free. Make room there`;
  const memory = clusters * perCluster.memory;
  if (freeMemoryMiB < memory)
    yield `[memory] ${clusters} clusters need ${memory} MiB of memory; ${freeMemoryMiB} MiB are free. End other programs, or ask for fewer clusters`;
}
