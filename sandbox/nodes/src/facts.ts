/** Facts that the code shares with the files of `config/`, which are the same for every cluster because it sees only its own. */
import { join } from "node:path";

/** Folder with the configuration of everything that a node runs. */
export const configFolder: string = join(import.meta.dirname, "..", "config");

/** Path of the cluster's folder in its namespaces; every program starts here. */
export const home = "/run/klutch/cluster";

/** Name of the only node, and its host name. */
export const nodeName = "node";

/** Port of the API server on all addresses of the node. */
export const apiPort = 6443;

/** Address of the Service `kubernetes`, the first of the range of Services. */
export const apiService = "10.96.0.1";

/** Domain of the cluster's names. */
export const clusterDomain = "cluster.local";

/** User that kubelets see when the API server calls. */
export const kubeletClientUser = "kube-apiserver-kubelet-client";

/** Names an image that a node has before it can pull any. */
export const images = { repository: "localhost/klutch", tag: "node", names: ["pause", "coredns"] } as const;
