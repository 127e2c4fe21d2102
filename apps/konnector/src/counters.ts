/** Counters of the konnector's own metrics. */
import type { Counter, Histogram, Labelled, Metrics } from "@klutch/telemetry";
import * as declarations from "./metrics.ts";

/** Metrics of the agent. */
export interface KonnectorMetrics {
  /** Registry, for controllers and clients. */
  readonly registry: Metrics;
  readonly writes: Labelled<"resource" | "step", Counter>;
  readonly lag: Labelled<"resource", Histogram>;
  readonly refusals: Labelled<"resource" | "reason", Counter>;
  /** Credentials that were replaced while the agent ran. */
  readonly rotations: Counter;
  readonly probes: Labelled<"outcome", Counter>;
  /** Time until probes were answered. */
  readonly probeLag: Labelled<never, Histogram>;
  /** Number of reconciled pairs, over all resources; not exported. */
  readonly reconcileCount: { count: number };
}

/** Creates the metrics in a registry. */
export function konnectorMetrics(registry: Metrics): KonnectorMetrics {
  return {
    registry,
    writes: registry.counter(declarations.syncWrites),
    lag: registry.histogram(declarations.syncLag),
    refusals: registry.counter(declarations.claimedRefusals),
    rotations: registry.counter(declarations.credentialRotations).labels({}),
    probes: registry.counter(declarations.canaryProbes),
    probeLag: registry.histogram(declarations.canaryLag),
    reconcileCount: { count: 0 },
  };
}
