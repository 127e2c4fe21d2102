/** Real API servers for tests, benchmarks and the sandbox, a model of one in virtual time, and faults on demand. */
export { type AccessQuestion, accountConfig, answerTo, isAllowed, unlimitedClient } from "./access.ts";
export { type AlertWatch, type AlertWatchOptions, startAlertWatch } from "./alert-watch.ts";
export { auditArguments, type AuditedWrite, auditPosition, readAudit } from "./audit.ts";
export { type BackendProcess, startBackendProcess } from "./backend-process.ts";
export { certificateRequests, certificates, startCertManager } from "./cert-manager.ts";
export { type CloudServiceBroker, startCloudServiceBroker } from "./cloud-service-broker.ts";
export { type OwnCluster, startCluster, type TestCluster } from "./cluster.ts";
export { leaseCluster, type LeaseOptions } from "./pool/lease.ts";
export { ClusterPool } from "./pool/pool.ts";
export { chosenKubernetes, kubernetesVariable, poolVariable } from "./environment.ts";
export { backUpEtcd, outrunBackup, restoreEtcd } from "./etcd-backup.ts";
export { askEtcd, etcdAddress, etcdArguments } from "./etcd.ts";
export { type EffectFault, effectFaults, Effects, withEffects } from "./effects.ts";
export { type FakeAnswers, fakeClient } from "./fake-client.ts";
export { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
export { type FollowOptions, followObjects } from "./follow.ts";
export {
  applyPolicies,
  installedAccount,
  allowPeople,
  installKinds,
  installRights,
  untilServed,
} from "./install.ts";
export { drawDashboard } from "./dashboard-picture.ts";
export { panelsOf, type ShippedPanel, untilFilled } from "./dashboards.ts";
export { documentedMetrics, metricNames } from "./metric-names.ts";
export { openWatchesIn, type Sample, samplesOf } from "./metrics-text.ts";
export { ApiServerModel } from "./model/api-server.ts";
export {
  type Fault,
  type FaultRates,
  type FaultSource,
  type SeededFaults,
  seededFaults,
  seededRandom,
} from "./model/faults.ts";
export { type GatewayProcess, startGatewayProcess } from "./gateway-process.ts";
export {
  type AnswerHead,
  type MisbehavingClient,
  type OpenStreams,
  openStreams,
  requestInLoops,
} from "./misbehaving-client.ts";
export type { Json, JsonObject } from "./model/json.ts";
export {
  anyObject,
  conditionsSchema,
  crdObject,
  namespaceObject,
  objectOfType,
  peopleBindingObject,
  roleBindingObject,
  roleObject,
  ruleOn,
  secretObject,
  serviceAccountObject,
  type Subject,
} from "./objects.ts";
export { exitCodeOf, type OptionDefaults, optionsOf, UsageError, wholeNumber } from "./program-options.ts";
export {
  kubernetesObjects,
  namespacedKubernetesObjects,
  startProviderKubernetes,
} from "./provider-kubernetes.ts";
export { missingForOwnNetwork } from "./own-network.ts";
export { nopResources, startProviderNop } from "./provider-nop.ts";
export { buckets, startS3Controller } from "./s3-controller.ts";
export { writeSecretVolume } from "./secret-volume.ts";
export { serverMetrics } from "./server-metrics.ts";
export { type ConnectionOrigin, TcpProxy } from "./tcp-proxy.ts";
export { VirtualClock } from "./virtual-clock.ts";
export { waitFor, type WaitOptions } from "./wait-for.ts";
export { type Kubectl, startKubectl } from "./kubectl.ts";
export { type ReceivedSpan, receiveTraces, type TraceReceiver } from "./trace-receiver.ts";
