/**
 * Metrics of managed resources with the names, label and buckets of Crossplane's own runtime, so that dashboards for Crossplane's providers
 * work. Their label is the kind in Go's form: `example.org/v1, Kind=Crate`.
 */
import type { GaugeDeclaration, HistogramDeclaration, ProcessName } from "@klutch/telemetry";

const processes: readonly ProcessName[] = ["provider-anynines"];
const labels = ["gvk"] as const;

/** Buckets of Crossplane for the time to reconcile and for drift: ten powers of ten. */
const reconcileBuckets: readonly number[] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10];
/** Buckets of Crossplane for operations at a backend. */
const operationBuckets: readonly number[] = [1, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

export const managedExists: GaugeDeclaration<"gvk"> = {
  name: "crossplane_managed_resource_exists",
  type: "gauge",
  help: "The number of managed resources that exist",
  notes:
    "Read from the cache at each scrape, in the process that holds the lease. A kind that is deleted has 0.",
  labels,
  processes,
};

export const managedReady: GaugeDeclaration<"gvk"> = {
  name: "crossplane_managed_resource_ready",
  type: "gauge",
  help: "The number of managed resources in Ready=True state",
  labels,
  processes,
};

export const managedSynced: GaugeDeclaration<"gvk"> = {
  name: "crossplane_managed_resource_synced",
  type: "gauge",
  help: "The number of managed resources in Synced=True state",
  notes: "Paused ones are not among them.",
  labels,
  processes,
};

export const firstTimeToReconcile: HistogramDeclaration<"gvk"> = {
  name: "crossplane_managed_resource_first_time_to_reconcile_seconds",
  type: "histogram",
  help: "The time it took for a managed resource to be detected by the controller",
  labels,
  buckets: reconcileBuckets,
  processes,
};

export const firstTimeToReadiness: HistogramDeclaration<"gvk"> = {
  name: "crossplane_managed_resource_first_time_to_readiness_seconds",
  type: "histogram",
  help: "The time it took for a managed resource to become ready first time after creation",
  notes: "Counts resources whose first reconcile this process made.",
  labels,
  buckets: operationBuckets,
  processes,
};

export const managedDeletion: HistogramDeclaration<"gvk"> = {
  name: "crossplane_managed_resource_deletion_seconds",
  type: "histogram",
  help: "The time it took for a managed resource to be deleted",
  labels,
  buckets: operationBuckets,
  processes,
};

export const managedDrift: HistogramDeclaration<"gvk"> = {
  name: "crossplane_managed_resource_drift_seconds",
  type: "histogram",
  help: "ALPHA: How long since the previous successful reconcile when a resource was found to be out of sync; excludes restart of the provider",
  notes: "Nearly all values exceed the buckets of Crossplane; use `_count`.",
  labels,
  buckets: reconcileBuckets,
  processes,
};
