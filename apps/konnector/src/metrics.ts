/** What the konnector counts. Labels hold kinds and results, never names. */
import type { CounterMetric, HistogramMetric, Metrics } from "@klutch/telemetry";

/** The agent's own metrics. */
export interface KonnectorMetrics {
  /** By resource and step (`applyProvider`, `writeStatus`, …). */
  readonly writes: CounterMetric;
  /** By resource and `success` or `error`. */
  readonly reconciles: CounterMetric;
  /** Reconciles of pairs so far, of all resources. */
  readonly reconcileCount: { count: number };
  /** Seconds of one reconcile, by resource. */
  readonly duration: HistogramMetric;
  /** Seconds from the moment a difference between a pair was seen until it was gone, by resource. */
  readonly lag: HistogramMetric;
  /** Claimed objects that did not cross, by resource and the reason of their event. */
  readonly refusals: CounterMetric;
  /** Swaps of provider credentials. */
  readonly rotations: CounterMetric;
}

/** Registers them; call once per registry. */
export function konnectorMetrics(metrics: Metrics): KonnectorMetrics {
  return {
    writes: metrics.counter("klutch_sync_writes_total", "Writes of the sync engine", ["resource", "step"]),
    reconcileCount: { count: 0 },
    reconciles: metrics.counter("klutch_sync_reconciles_total", "Reconciles of pairs", [
      "resource",
      "result",
    ]),
    duration: metrics.histogram("klutch_sync_reconcile_seconds", "Time of one reconcile of a pair", [
      "resource",
    ]),
    lag: metrics.histogram("klutch_sync_lag_seconds", "Time during which a pair differed", ["resource"]),
    refusals: metrics.counter("klutch_claimed_refusals_total", "Claimed objects that did not cross", [
      "resource",
      "reason",
    ]),
    rotations: metrics.counter("klutch_credential_rotations_total", "Swaps of provider credentials"),
  };
}
