/** Real Kubernetes clusters of one node each, in namespaces of this machine. Needs root. */
export { type NodeCluster, type NodeClusterOptions, startNodeCluster, startNodeClusters } from "./cluster.ts";
export { NodeError, type NodeErrorCode } from "./errors.ts";
export { whyUnfit } from "./fitness.ts";
export { type NodeNetwork, openNodeNetwork } from "./network.ts";
export { resolveClusterPrograms } from "./programs.ts";
export { type NodeRegistry, startNodeRegistry } from "./registry.ts";
