/** Caches, queues, controllers, leases and probes for programs that follow the state of API servers. */
export { Backoff, backoffLimit } from "./backoff.ts";
export { certificateFollower, type FollowCertificate } from "./certificate-follower.ts";
export {
  Controller,
  type ControllerOptions,
  type EnqueueOptions,
  type Reconcile,
  type ReconcileContext,
  type ReconcileResult,
} from "./controller.ts";
export {
  DelayedRetryError,
  ListenError,
  StaleCacheError,
  TerminalError,
  TooManyObjectsError,
} from "./errors.ts";
export {
  type DigestedObject,
  type DigestRules,
  type ObjectDigest,
  withoutManagedFields,
} from "./cache/digested-object.ts";
export {
  createEventRecorder,
  type EventRecorder,
  type EventRecorderOptions,
  type RelatedObject,
} from "./events/recorder.ts";
export { findSurely, readLive } from "./cache/live.ts";
export {
  type CacheFailure,
  type InformerHandle,
  CachePool,
  type CachePoolOptions,
  type CacheScope,
  objectsIn,
} from "./cache/pool.ts";
export { ReadYourWritesCache } from "./cache/read-your-writes-cache.ts";
export { isNewerVersion } from "./cache/resource-version.ts";
export { type ChangeHandler, Informer, type InformerOptions, type InformerStatus } from "./cache/informer.ts";
export {
  ClusterConnection,
  type ClusterConnectionOptions,
  type LeaseOptions,
} from "./manager/cluster-connection.ts";
export {
  type ManagedConnection,
  Manager,
  type ManagerOptions,
  type ProbeAddress,
} from "./manager/manager.ts";
export type { ManagedCache, ManagerPart, Runnable } from "./manager/runnable.ts";
export { type Runtime, systemRuntime } from "./manager/runtime.ts";
export { type HealthCheck } from "./probes.ts";
export { untilAborted } from "./manager/until-aborted.ts";
export type { Cached, Change, Indexer } from "./cache/store.ts";
export {
  CertificateError,
  certificatesIn,
  readServedCertificate,
  type ServedCertificate,
} from "./served-certificate.ts";
export type { Priority, WakeReason } from "./queue/wake.ts";
