/** Real API servers for tests, benchmarks and the sandbox, a model of one in virtual time, and faults on demand. */
export { type AccessQuestion, answerTo, isAllowed } from "./access.ts";
export { type BackendProcess, type BackendProcessOptions, startBackendProcess } from "./backend-process.ts";
export {
  type ClusterOptions,
  type OwnCluster,
  startCluster,
  startClusters,
  type TestCluster,
} from "./cluster.ts";
export { leaseCluster, leaseClusters, type LeaseOptions } from "./pool/lease.ts";
export { ClusterPool } from "./pool/pool.ts";
export { poolVariable } from "./environment.ts";
export { applyPolicies, unlimitedClient } from "./confined.ts";
export { askEtcd, etcdAddress, etcdArguments } from "./etcd.ts";
export { type EffectFault, effectFaults, Effects, withEffects } from "./effects.ts";
export { type FakeAnswers, fakeClient } from "./fake-client.ts";
export { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
export { installedAccount, installKinds, installRights, untilServed } from "./install.ts";
export { documentedMetrics, metricNames } from "./metric-names.ts";
export { ApiServerModel, type ApiServerModelOptions } from "./model/api-server.ts";
export type { ModelClientOptions } from "./model/client.ts";
export {
  type Delivery,
  type Fault,
  type FaultRates,
  type FaultSource,
  type RequestInfo,
  type SeededFaults,
  seededFaults,
  seededRandom,
  type Verb,
  type WatchEventInfo,
} from "./model/faults.ts";
export type { Json, JsonObject } from "./model/json.ts";
export type { ResourceDefinition } from "./model/resources.ts";
export {
  anyObject,
  conditionsSchema,
  crdObject,
  namespaceObject,
  objectOfType,
  roleBindingObject,
  roleObject,
  secretObject,
  serviceAccountObject,
} from "./objects.ts";
export { exitCodeOf, UsageError, wholeNumber } from "./program-options.ts";
export {
  kubernetesObjects,
  kubernetesProviderConfig,
  namespacedKubernetesObjects,
  type ProviderKubernetesOptions,
  startProviderKubernetes,
} from "./provider-kubernetes.ts";
export { writeSecretVolume } from "./secret-volume.ts";
export { type ConnectionOrigin, TcpProxy, type TcpProxyOptions } from "./tcp-proxy.ts";
export { type RunOptions, VirtualClock, type VirtualClockOptions } from "./virtual-clock.ts";
export { waitFor, type WaitOptions } from "./wait-for.ts";
