/** Measures the memory of a node's processes, as the kernel counts it (proc_pid_smaps_rollup: proportional set size). Needs root. */
import { readdir, readFile } from "node:fs/promises";
import { type DynamicObject, pods } from "@klutch/kube-core";
import type { NodeCluster } from "@klutch/nodes";

/** Returns the lines of a table: each Pod and each process of the node itself, the largest first, and the sums. */
export async function memoryTable({ client, node }: NodeCluster): Promise<readonly string[]> {
  const { items } = await client.list<DynamicObject>(pods);
  const names = new Map(
    items.map(({ metadata }) => [metadata.uid, `${metadata.namespace}/${metadata.name}`]),
  );
  const processes = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const found = (await Promise.all(processes.map((id) => memoryOf(id, node.name)))).flat();
  const uses = Map.groupBy(found, ({ pod, program }) =>
    pod === undefined ? `    ${program}` : `Pod ${names.get(pod) ?? "a Pod that is gone"}`,
  );
  const sum = (of: readonly NodeProcess[]): number => of.reduce((total, { kib }) => total + kib, 0);
  const line = (kib: number, name: string): string => `${(kib / 1024).toFixed(0).padStart(6)} MiB  ${name}`;
  const rows = [...uses].map(([name, of]) => ({ name, kib: sum(of) }));
  return [
    ...rows.toSorted((one, other) => other.kib - one.kib).map(({ kib, name }) => line(kib, name)),
    line(sum(found.filter(({ pod }) => pod !== undefined)), "all Pods"),
    line(sum(found), "everything"),
  ];
}

interface NodeProcess {
  readonly program: string;
  /** UID of its Pod. */
  readonly pod: string | undefined;
  readonly kib: number;
}

/** Reads one process. Returns nothing if it is not of the node, or ended meanwhile. */
async function memoryOf(id: string, node: string): Promise<readonly NodeProcess[]> {
  const read = (file: string): Promise<string> => readFile(`/proc/${id}/${file}`, "utf8").catch(() => "");
  const path = /:memory:(\S+)$/m.exec(await read("cgroup"))?.[1] ?? "";
  if (!path.includes(`/${node}/`)) return [];
  const kib = Number(/^Pss:\s+(\d+) kB$/m.exec(await read("smaps_rollup"))?.[1] ?? 0);
  return [{ program: (await read("comm")).trim(), pod: /\/pod([0-9a-f-]{36})\//.exec(path)?.[1], kib }];
}
