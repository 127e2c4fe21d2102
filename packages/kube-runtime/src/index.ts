/** Caches, queues, controllers, leases and probes for programs that follow the state of API servers. */
export { Backoff } from "./backoff.ts";
export {
  Controller,
  type ControllerOptions,
  type Reconcile,
  type ReconcileContext,
  type ReconcileResult,
} from "./controller.ts";
export { DelayedRetryError, TerminalError, TooManyObjectsError } from "./errors.ts";
export { type ChangeHandler, Informer, type InformerOptions, type InformerStatus } from "./informer.ts";
export { leading, LeaderElector, type LeaderElectorOptions } from "./leader-elector.ts";
export { type ManagerOptions, runManager } from "./manager.ts";
export { type HealthCheck, type ProbeOptions, type ProbeServer, startProbes } from "./probes.ts";
export type { Cached, Change, Indexer } from "./store.ts";
export { type Lane, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
