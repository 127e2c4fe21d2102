/** Finds the cgroup hierarchies of this process (cgroups(7), version 1), below which a node's own cgroups are. */
import { readFile } from "node:fs/promises";
import { NodeError } from "./errors.ts";

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
const needed = ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"];

/** Reads `/proc/self/cgroup` and `/proc/self/mountinfo`. Throws `NodeError` Unfit that names missing controllers. */
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
  if (missing.length > 0)
    throw new NodeError(
      "Unfit",
      `this machine has no cgroup hierarchy (version 1) for ${missing.join(", ")}`,
    );
  return hierarchies;
}

/** Reads those of this process. Throws `NodeError` Unfit. */
export async function ownHierarchies(): Promise<readonly Hierarchy[]> {
  const read = (file: string): Promise<string> => readFile(`/proc/self/${file}`, "utf8");
  return hierarchiesOf(await read("cgroup"), await read("mountinfo"));
}

/** Reads a line of mountinfo (proc_pid_mountinfo(5)); undefined if it is no hierarchy. */
function mountOf(
  line: string,
): { readonly root: string; readonly folder: string; readonly options: readonly string[] } | undefined {
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
