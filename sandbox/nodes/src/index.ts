/** Real Kubernetes clusters of one node each, in namespaces of this machine. Needs root. */
export { type NodeCluster, type NodeClusterOptions, startNodeCluster, startNodeClusters } from "./cluster.ts";
export { type NodeNetwork, type NodeRegistry, openNodeNetwork, startNodeRegistry } from "./network.ts";
export { resolveClusterPrograms, whyUnfit } from "./needs.ts";
