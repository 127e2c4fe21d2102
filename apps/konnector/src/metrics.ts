/** What the konnector counts. Labels hold kinds and results, never names. */
import { type Counter, type Histogram, type Labelled, type Metrics, syncMetrics } from "@klutch/telemetry";

/** The agent's own metrics. */
export interface KonnectorMetrics {
  /** For controllers and clients. */
  readonly registry: Metrics;
  readonly writes: Labelled<"resource" | "step", Counter>;
  readonly lag: Labelled<"resource", Histogram>;
  readonly refusals: Labelled<"resource" | "reason", Counter>;
  /** Swaps of credentials. */
  readonly rotations: Counter;
  /** Reconciles of pairs so far, of all resources; not shown. */
  readonly reconcileCount: { count: number };
}

/** Those of a registry. */
export function konnectorMetrics(registry: Metrics): KonnectorMetrics {
  return {
    registry,
    writes: registry.counter(syncMetrics.syncWrites),
    lag: registry.histogram(syncMetrics.syncLag),
    refusals: registry.counter(syncMetrics.claimedRefusals),
    rotations: registry.counter(syncMetrics.credentialRotations).labels({}),
    reconcileCount: { count: 0 },
  };
}
