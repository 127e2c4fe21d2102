/** Says whether real nodes can run on this machine: reads the facts that they depend on, changes nothing, and names each thing that is missing. */
import { constants } from "node:fs";
import { mkdir, mkdtempDisposable, readFile } from "node:fs/promises";
import { release } from "node:os";
import { basename, delimiter, join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { exists, freeMiBOf, inheritedEnvironment, run } from "./environment.ts";

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

/** Facts about a machine. What could not be asked is undefined or absent, and counts as no obstacle. */
export interface NodeFacts {
  /** Name of the platform in Node.js: `linux`. */
  readonly platform: string;
  readonly uid: number | undefined;
  /** Programs of every Linux that are not on the path. */
  readonly missingPrograms: readonly string[];
  readonly readsKernelLog: boolean;
  /** Configuration of the kernel: lines such as `CONFIG_VETH=m`. */
  readonly kernelConfig: string | undefined;
  /** Controllers of each cgroup hierarchy of version 1 that this process is in: `cpu,cpuacct`. */
  readonly hierarchies: readonly string[];
  /** Results of the trial (`runTrial`), which only root can run. */
  readonly trial: ReadonlyMap<string, string>;
  /** Folder for the nodes' images and data. */
  readonly folder: string;
  readonly freeDiskMiB: number;
  readonly freeMemoryMiB: number;
}

/** Options of `readNodeFacts`. */
export interface NodeFactsOptions {
  /** Folder for the nodes' images and data; created if missing. */
  readonly folder: string;
  /** Environment of the trial. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

const neededPrograms = ["unshare", "nsenter", "mount", "umount"];

/** Asks the machine; takes well below a second. Throws when the folder cannot be made. */
export async function readNodeFacts(options: NodeFactsOptions): Promise<NodeFacts> {
  const { env = inheritedEnvironment } = options;
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true });
  const missingPrograms = await missingOn(env["PATH"] ?? "");
  const uid = process.getuid?.();
  const cgroups = await readFile("/proc/self/cgroup", "utf8").catch(() => "");
  const hierarchies = [...cgroups.matchAll(/^\d+:([^:=]+):/gm)].map(([, names = ""]) => names);
  const canTry = process.platform === "linux" && uid === 0 && missingPrograms.length === 0;
  return {
    platform: process.platform,
    uid,
    missingPrograms,
    readsKernelLog: await exists("/dev/kmsg", constants.R_OK),
    kernelConfig: await readKernelConfig("/"),
    hierarchies,
    trial: canTry ? await runTrial(folder, hierarchies, env) : new Map(),
    folder,
    freeDiskMiB: Math.floor(await freeMiBOf(folder)),
    freeMemoryMiB: Math.floor(process.availableMemory() / 2 ** 20),
  };
}

/** Reads the configuration of the running kernel from where kernels leave it. `root` is `/`, except in tests. */
export async function readKernelConfig(root: string): Promise<string | undefined> {
  const read = (path: string): Promise<Buffer | undefined> =>
    readFile(join(root, path)).catch(() => undefined);
  const packed = await read("proc/config.gz");
  const config =
    (packed === undefined ? undefined : gunzipSync(packed)) ??
    (await read(`boot/config-${release()}`)) ??
    (await read(`lib/modules/${release()}/config`));
  return config?.toString();
}

async function missingOn(path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const name of neededPrograms) {
    const found = await Promise.all(path.split(delimiter).map((folder) => exists(join(folder, name))));
    if (!found.includes(true)) missing.push(name);
  }
  return missing;
}

/** Arguments of `unshare` for the namespaces of a node, which end with it. */
export const namespaceFlags: readonly string[] =
  "--mount --propagation=private --net --pid --uts --cgroup --fork --kill-child --mount-proc".split(" ");

/** Arguments: a name that no other trial has, then the cgroup hierarchies. Prints one line for each thing: name, tab, the words of its failure. */
const script = `
try() {
  name=$1; shift
  if words=$("$@" 2>&1); then words=; else words=$(echo "\${words:-it failed}" | tr '\\n\\t' '  '); fi
  printf '%s\\t%s\\n' "$name" "$words"
}
own=$1; shift
in_cgroup() { mount -t cgroup -o "$1" cgroup cgroup && mkdir "cgroup/$own" && rmdir "cgroup/$own"; }
try namespaces true
try overlay mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged
for hierarchy in "$@"; do
  try "cgroup $hierarchy" in_cgroup "$hierarchy"
  umount cgroup 2>/dev/null
done
if command -v ip >/dev/null; then
  try veth ip link add klutch-a type veth peer name klutch-b
  try bridge ip link add klutch-c type bridge
fi
if command -v nft >/dev/null; then try nftables nft add table inet klutch; fi
`;

/**
 * Tries everything in a folder of its own below `folder`, as root. Returns the words of each failure by what was tried (`namespaces`,
 * `overlay`, `cgroup <hierarchy>`, `veth`, `bridge`, `nftables`): no words if it works, and no entry if it could not be tried.
 */
async function runTrial(
  folder: string,
  hierarchies: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<ReadonlyMap<string, string>> {
  await using made = await mkdtempDisposable(join(folder, ".klutch-trial-"));
  const place = made.path;
  try {
    for (const name of ["lower", "upper", "work", "merged", "cgroup"]) await mkdir(join(place, name));
    const args = [...namespaceFlags, "/bin/sh", "-c", script, "sh", basename(place), ...hierarchies];
    const { stdout } = await run("unshare", args, { cwd: place, env });
    const lines = [...stdout.matchAll(/^(.+)\t(.*)$/gm)];
    return new Map(lines.map(([, name = "", words = ""]) => [name, words.trim()]));
  } catch (error) {
    const words = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    return new Map([["namespaces", words === "" ? "unshare failed" : words]]);
  }
}
