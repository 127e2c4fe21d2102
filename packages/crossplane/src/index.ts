/** Crossplane from the outside: managed resources and composition functions. */
export * as functionMetrics from "./function/metrics.ts";
export { type FunctionServer, serveFunction, type ServeFunctionOptions } from "./function/server.ts";
export type {
  Compose,
  ComposeCondition,
  ComposeRequest,
  ComposeResponse,
  ComposeResult,
  DesiredResource,
  Json,
  ObservedResource,
  RequiredResources,
} from "./function/types.ts";
export { keysOfManagedChange } from "./managed/changes.ts";
export { connectionIsMissing, publishConnection, readConnection } from "./managed/connection-secret.ts";
export {
  type CallOptions,
  type Connect,
  type ConnectionDetails,
  type CriticalAnnotationUpdate,
  type ExternalClient,
  ExternalError,
  externalNameAnnotation,
  type Managed,
  NotYetError,
  type Observation,
} from "./managed/external.ts";
export { createManagedStates } from "./managed/measures.ts";
export * as managedMetrics from "./managed/metrics.ts";
export { isOrphaned } from "./managed/plan.ts";
export { createManagedReconcile, type ManagedReconcilerOptions, type Problem } from "./managed/reconciler.ts";
