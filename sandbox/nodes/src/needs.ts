/** Finds what a node needs of this machine: its fitness, programs, and the cgroup hierarchies of this process (cgroups(7), version 1). */
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as engines from "@klutch/engines";

/** A hierarchy. */
export interface Hierarchy {
  /** Option of `mount -t cgroup -o`: `cpu,cpuacct` or `none,name=systemd`. */
  readonly option: string;
  /** Folder below /sys/fs/cgroup by which programs find it: `cpu,cpuacct` or `systemd`. */
  readonly name: string;
  /** Folder of this process's own cgroup. */
  readonly folder: string;
}

/** Controllers that kubelet and runc need. */
const lacking = "this machine has no cgroup hierarchy (version 1) for";
const needed = ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"];

/** Reads `/proc/self/cgroup` and `/proc/self/mountinfo`. Throws `EngineError` Unfit that names missing controllers. */
export function hierarchiesOf(cgroup: string, mountinfo: string): readonly Hierarchy[] {
  const mounts = mountinfo.split("\n").flatMap((line) => mountOf(line) ?? []);
  const hierarchies = cgroup.split("\n").flatMap((line) => {
    const [, controllers = "", path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    const mount = mounts.find(({ options }) =>
      controllers.split(",").every((each) => options.includes(each)),
    );
    if (controllers === "" || path === undefined || mount === undefined) return [];
    const named = controllers.startsWith("name=");
    return {
      option: named ? `none,${controllers}` : controllers,
      name: controllers.replace(/^name=/, ""),
      folder: `${mount.folder}${below(mount.root, path)}`,
    };
  });
  const present = new Set(hierarchies.flatMap(({ name }) => name.split(",")));
  const missing = needed.filter((name) => !present.has(name));
  if (missing.length > 0) throw new engines.EngineError("Unfit", `${lacking} ${missing.join(", ")}`);
  return hierarchies;
}

/** Reads those of this process. Throws `EngineError` Unfit. */
export async function ownHierarchies(): Promise<readonly Hierarchy[]> {
  const read = (file: string): Promise<string> => readFile(`/proc/self/${file}`, "utf8");
  return hierarchiesOf(await read("cgroup"), await read("mountinfo"));
}

/** Reads a line of mountinfo (proc_pid_mountinfo(5)); undefined if it is no hierarchy. */
function mountOf(line: string) {
  const [mount = "", system = ""] = line.split(" - ");
  const [, , , root, folder] = mount.split(" ");
  const [type, , options = ""] = system.split(" ");
  if (type !== "cgroup" || root === undefined || folder === undefined) return undefined;
  return { root, folder, options: options.split(",") };
}

/** The path as it is below the mount, which may show only a part of the hierarchy. */
function below(root: string, path: string): string {
  const rest = root === "/" ? path : path.startsWith(root) ? path.slice(root.length) : "";
  return rest === "/" ? "" : rest;
}

/** Returns everything that it lacks for this number of clusters, default one, in one text; undefined when they can be started. Changes nothing. */
export async function whyUnfit(clusters = 1): Promise<string | undefined> {
  const refusal = await engines.whyNoNodes({ folder: tmpdir(), clusters });
  if (refusal !== undefined) return refusal;
  try {
    await ownHierarchies();
    return undefined;
  } catch (error) {
    if (error instanceof engines.EngineError) return error.message;
    throw error;
  }
}

/** Throws `EngineError` Unfit with everything that the machine lacks. */
export async function requireFitness(clusters: number): Promise<void> {
  const refusal = await whyUnfit(clusters);
  if (refusal !== undefined) throw new engines.EngineError("Unfit", refusal);
}

/** Servers of every cluster; only real nodes run the others. */
const clusterServers = ["etcd", "kube-apiserver", "kube-controller-manager"] as const;

/**
 * Finds the programs that a cluster runs, servers and Debian's container runtime: takes them from the cache, else obtains them, which takes minutes.
 * `path` knows all of them. Throws `EngineError`.
 */
export async function resolveClusterPrograms(
  options: Pick<engines.ResolveOptions, "progress" | "signal"> = {},
): Promise<engines.NodePrograms> {
  const runtime = await engines.resolveNodePrograms(options);
  const built = new Map<string, string>(
    await engines.resolveEngines([...clusterServers, ...engines.nodeEngineNames], options),
  );
  return { ...runtime, path: (program) => built.get(program) ?? runtime.path(program) };
}
