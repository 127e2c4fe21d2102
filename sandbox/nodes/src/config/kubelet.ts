/** Configuration of the kubelet (kubelet.config.k8s.io/v1beta1) and of kube-proxy (kubeproxy.config.k8s.io/v1alpha1). */
import { type ClusterFiles, clusterDomain, containerdSocket, ranges } from "../layout.ts";

/**
 * For a node that shares a machine with others: it evicts nobody for the disk's sake, removes no image, and leaves OOM scores and the
 * machine's firewall alone.
 */
export function kubeletConfiguration({ ca, certificate, key, kubelet }: ClusterFiles): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: ca },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: certificate("kubelet-server"),
    tlsPrivateKeyFile: key("kubelet-server"),
    rotateCertificates: false,
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    cgroupDriver: "cgroupfs",
    // Version 1 of cgroups is deprecated, and all that some machines have.
    failCgroupV1: false,
    enforceNodeAllocatable: ["pods"],
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
    failSwapOn: false,
    podCIDR: ranges.pods,
    clusterDNS: [ranges.dnsService],
    clusterDomain,
    // There is no name server beyond the cluster's own.
    resolvConf: "",
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "0%",
      "nodefs.inodesFree": "0%",
      "imagefs.available": "0%",
    },
    registryPullQPS: 50,
    podLogsDir: kubelet.podLogs,
    volumePluginDir: `${kubelet.root}/volume-plugins`,
    shutdownGracePeriod: "0s",
  };
}

/** With nftables; connection tracking is a setting of the whole machine and stays as it is. */
export function proxyConfiguration({ kubeconfig }: ClusterFiles, nodeName: string): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    clientConnection: { kubeconfig: kubeconfig("proxy") },
    hostnameOverride: nodeName,
    clusterCIDR: ranges.pods,
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    bindAddress: "0.0.0.0",
    oomScoreAdj: 0,
  };
}
