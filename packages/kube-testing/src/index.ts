/** Real API servers for tests, benchmarks and the sandbox, and faults that they will not produce on demand. */
export { type ClusterOptions, startCluster, startClusters, type TestCluster } from "./cluster.ts";
export { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
export { waitFor, type WaitOptions } from "./wait-for.ts";
