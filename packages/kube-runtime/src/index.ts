/** Caches, queues, controllers, leases and probes for programs that follow the state of API servers. */
export { Backoff } from "./backoff.ts";
export {
  Controller,
  type ControllerOptions,
  type Reconcile,
  type ReconcileContext,
  type ReconcileResult,
} from "./controller.ts";
export { DelayedRetryError, ListenError, TerminalError, TooManyObjectsError } from "./errors.ts";
export { type ChangeHandler, Informer, type InformerOptions, type InformerStatus } from "./informer.ts";
export { LeaderElector, type LeaderElectorOptions } from "./leader-elector.ts";
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
export { type SignalSource, stopOnSignals } from "./manager/stop-signals.ts";
export { type HealthCheck, type ProbeOptions, type ProbeServer, startProbes } from "./probes.ts";
export { untilAborted } from "./manager/until-aborted.ts";
export {
  type Address,
  address,
  duration,
  type Flag,
  FlagFault,
  type FlagTable,
  type FlagWords,
  ignored,
  oneOf,
  optional,
  optionalText,
  port,
  text,
  toggle,
  type ValuesOf,
  wholeNumber,
} from "./program/flag.ts";
export { helpText, type ProgramDescription } from "./program/help.ts";
export { collectGarbage } from "./program/memory.ts";
export { kubeconfigFlag, ownCluster } from "./program/own-cluster.ts";
export { ConfigError, type FlagSource, readFlags, requireFlags } from "./program/read-flags.ts";
export { type ConfigSource, type Program, runProcess } from "./program/run-process.ts";
export type { Cached, Change, Indexer } from "./store.ts";
export { type Lane, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
