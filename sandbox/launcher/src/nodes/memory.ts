/** Measures the memory of a node's processes, as the kernel counts it (proc_pid_smaps_rollup: proportional set size). Needs root. */
import { readdir, readFile } from "node:fs/promises";
import { type DynamicObject, pods } from "@klutch/kube-core";
import type { NodeCluster } from "@klutch/nodes";

/** A process of the node itself, or all of a Pod's. */
export interface MemoryUse {
  /** `kubelet`, or `namespace/name` of a Pod. */
  readonly name: string;
  readonly isPod: boolean;
  readonly kib: number;
}

/** Lists the processes on the node of a cluster, the largest first. */
export async function memoryOf({ client, node }: NodeCluster): Promise<readonly MemoryUse[]> {
  const { items } = await client.list<DynamicObject>(pods);
  const names = new Map(
    items.map(({ metadata }) => [metadata.uid, `${metadata.namespace}/${metadata.name}`]),
  );
  const uses = new Map<string, MemoryUse>();
  for (const id of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const found = await processAt(`/proc/${id}`, node.name);
    if (found === undefined) continue;
    const { program, pod, kib } = found;
    const name = pod === undefined ? program : (names.get(pod) ?? `a Pod that is gone`);
    const before = uses.get(name)?.kib ?? 0;
    uses.set(name, { name, isPod: pod !== undefined, kib: before + kib });
  }
  return [...uses.values()].toSorted((one, other) => other.kib - one.kib);
}

interface NodeProcess {
  readonly program: string;
  /** UID of its Pod. */
  readonly pod: string | undefined;
  readonly kib: number;
}

/** Reads one process. Returns undefined if it is not of the node, or ended meanwhile. */
async function processAt(folder: string, node: string): Promise<NodeProcess | undefined> {
  const read = (file: string): Promise<string> => readFile(`${folder}/${file}`, "utf8").catch(() => "");
  const path = /:memory:(\S+)$/m.exec(await read("cgroup"))?.[1] ?? "";
  if (!path.includes(`/${node}/`)) return undefined;
  const kib = Number(/^Pss:\s+(\d+) kB$/m.exec(await read("smaps_rollup"))?.[1] ?? 0);
  const program = (await read("comm")).trim();
  return { program, pod: /\/pod([0-9a-f-]{36})\//.exec(path)?.[1], kib };
}

/** Lines of a table, with the sum. */
export function memoryTable(uses: readonly MemoryUse[]): readonly string[] {
  const mib = (kib: number): string => `${(kib / 1024).toFixed(0).padStart(6)} MiB`;
  const sum = (of: readonly MemoryUse[]): number => of.reduce((total, { kib }) => total + kib, 0);
  const isPod = (use: MemoryUse): boolean => use.isPod;
  return [
    ...uses.map(({ name, kib, isPod: pod }) => `${mib(kib)}  ${pod ? "Pod" : "   "} ${name}`),
    `${mib(sum(uses.filter(isPod)))}  all Pods`,
    `${mib(sum(uses))}  everything`,
  ];
}
