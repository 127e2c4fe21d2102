/** Where a cluster's things are: ranges of addresses, which are the same in each, and files below its folder. */

/** Address ranges inside. No other cluster sees them: what leaves the node has the node's address. */
export const ranges = {
  services: "10.96.0.0/16",
  pods: "10.244.0.0/24",
  /** Of the Service `kubernetes`: the first address. */
  apiService: "10.96.0.1",
  dnsService: "10.96.0.10",
} as const;

/** The cluster's domain. */
export const clusterDomain = "cluster.local";

/** Where the API server listens, on all addresses of the node. */
export const apiPort = 6443;

/** Of the node's namespaces, whose `/run` is their own. */
export const containerdSocket = "/run/containerd/containerd.sock";

/** Paths below a cluster's folder. */
export interface ClusterFiles {
  readonly folder: string;
  /** PEM of the authority. */
  readonly ca: string;
  readonly accountKey: string;
  readonly certificate: (name: string) => string;
  readonly key: (name: string) => string;
  readonly kubeconfig: (name: string) => string;
  readonly log: (name: string) => string;
  readonly containerd: { readonly config: string; readonly root: string; readonly registries: string };
  readonly cni: string;
  readonly kubelet: { readonly config: string; readonly root: string; readonly podLogs: string };
  readonly proxyConfig: string;
}

/** Of the cluster in that folder. */
export function clusterFiles(folder: string): ClusterFiles {
  return {
    folder,
    ca: `${folder}/pki/ca.crt`,
    accountKey: `${folder}/pki/service-account.key`,
    certificate: (name) => `${folder}/pki/${name}.crt`,
    key: (name) => `${folder}/pki/${name}.key`,
    kubeconfig: (name) => `${folder}/kubeconfigs/${name}`,
    log: (name) => `${folder}/logs/${name}.log`,
    containerd: {
      config: `${folder}/containerd.toml`,
      root: `${folder}/containerd`,
      registries: `${folder}/registries`,
    },
    cni: `${folder}/cni`,
    kubelet: {
      config: `${folder}/kubelet.yaml`,
      root: `${folder}/kubelet`,
      podLogs: `${folder}/pod-logs`,
    },
    proxyConfig: `${folder}/kube-proxy.yaml`,
  };
}
