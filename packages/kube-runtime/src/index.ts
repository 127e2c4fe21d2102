/** Caches, queues, controllers, leases and probes for programs that follow the state of API servers. */
export { Backoff } from "./backoff.ts";
export {
  Controller,
  type ControllerOptions,
  type Reconcile,
  type ReconcileContext,
  type ReconcileResult,
} from "./controller.ts";
export { DelayedRetryError, StaleCacheError, TerminalError, TooManyObjectsError } from "./errors.ts";
export {
  type DigestedObject,
  type DigestRules,
  type ObjectDigest,
  withoutManagedFields,
} from "./cache/digested-object.ts";
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
export { type ChangeHandler, Informer, type InformerOptions, type InformerStatus } from "./cache/informer.ts";
export { leading, LeaderElector, type LeaderElectorOptions } from "./leader-elector.ts";
export { type ManagerOptions, runManager } from "./manager.ts";
export { type HealthCheck, type ProbeOptions, type ProbeServer, startProbes } from "./probes.ts";
export type { Cached, Change, Indexer } from "./cache/store.ts";
export { type Priority, WorkQueue, type WorkQueueOptions } from "./queue/work-queue.ts";
