/** Finds the programs that a cluster runs: servers that are built from source, and Debian's container runtime. */
import { type NodePrograms, resolveEngines, resolveNodePrograms, type ResolveOptions } from "@klutch/engines";

const engines = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "coredns",
  "pause",
] as const;

/** Takes them from the cache, else obtains them, which takes minutes; `path` knows all of them. Throws `EngineError`. */
export async function resolveClusterPrograms(
  options: Pick<ResolveOptions, "progress" | "signal"> = {},
): Promise<NodePrograms> {
  const runtime = await resolveNodePrograms(options);
  const built = new Map<string, string>(await resolveEngines(engines, options));
  return { ...runtime, path: (program) => built.get(program) ?? runtime.path(program) };
}
