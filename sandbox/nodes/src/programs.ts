/** The programs that a cluster runs: servers that are built from source, and Debian's container runtime. */
import { type NodePrograms, resolveEngines, resolveNodePrograms, type ResolveOptions } from "@klutch/engines";

/** Paths of all of them. */
export interface ClusterPrograms {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubeControllerManager: string;
  readonly kubeScheduler: string;
  readonly kubelet: string;
  readonly kubeProxy: string;
  readonly coredns: string;
  readonly pause: string;
  readonly runtime: NodePrograms;
}

const names = {
  etcd: "etcd",
  kubeApiserver: "kube-apiserver",
  kubeControllerManager: "kube-controller-manager",
  kubeScheduler: "kube-scheduler",
  kubelet: "kubelet",
  kubeProxy: "kube-proxy",
  coredns: "coredns",
  pause: "pause",
} as const;

/** Those in the cache, else obtained, which takes minutes. Throws `EngineError`. */
export async function resolveClusterPrograms(
  options: Pick<ResolveOptions, "progress" | "signal"> = {},
): Promise<ClusterPrograms> {
  const runtime = await resolveNodePrograms(options);
  const engines = await resolveEngines(Object.values(names), options);
  const path = (name: keyof typeof names): string => engines.get(names[name]) ?? "";
  return {
    etcd: path("etcd"),
    kubeApiserver: path("kubeApiserver"),
    kubeControllerManager: path("kubeControllerManager"),
    kubeScheduler: path("kubeScheduler"),
    kubelet: path("kubelet"),
    kubeProxy: path("kubeProxy"),
    coredns: path("coredns"),
    pause: path("pause"),
    runtime,
  };
}
