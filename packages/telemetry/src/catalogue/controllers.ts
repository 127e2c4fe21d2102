/** Controllers, queues and leases: names and labels of controller-runtime and client-go, so that existing dashboards and alerts fit. */
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  ProcessName,
} from "../declaration.ts";

const processes: readonly ProcessName[] = ["konnector", "backend", "provider-anynines"];

/** Buckets of controller-runtime. */
const reconcileBuckets: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
/** Buckets of client-go's queues: 12 powers of ten. */
const queueBuckets: readonly number[] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000];

export const reconcileTotal: CounterDeclaration<"controller" | "result"> = {
  name: "controller_runtime_reconcile_total",
  type: "counter",
  help: "Total number of reconciliations per controller",
  notes:
    "`result` is `success`, `requeue_after`, `error`, or `aborted` when the lease or the process ended meanwhile.",
  labels: ["controller", "result"],
  processes,
};

export const reconcileErrors: CounterDeclaration<"controller"> = {
  name: "controller_runtime_reconcile_errors_total",
  type: "counter",
  help: "Total number of reconciliation errors per controller",
  labels: ["controller"],
  processes,
};

export const terminalReconcileErrors: CounterDeclaration<"controller"> = {
  name: "controller_runtime_terminal_reconcile_errors_total",
  type: "counter",
  help: "Total number of reconciliation errors per controller that wait for a change of the object",
  labels: ["controller"],
  processes,
};

export const reconcileTime: HistogramDeclaration<"controller"> = {
  name: "controller_runtime_reconcile_time_seconds",
  type: "histogram",
  help: "Length of time per reconciliation per controller",
  labels: ["controller"],
  buckets: reconcileBuckets,
  processes,
};

export const maxConcurrentReconciles: GaugeDeclaration<"controller"> = {
  name: "controller_runtime_max_concurrent_reconciles",
  type: "gauge",
  help: "Maximum number of concurrent reconciles per controller; of an adaptive one, its present limit",
  labels: ["controller"],
  processes,
};

export const activeWorkers: GaugeDeclaration<"controller"> = {
  name: "controller_runtime_active_workers",
  type: "gauge",
  help: "Number of currently used workers per controller",
  labels: ["controller"],
  processes,
};

export const queueDepth: GaugeDeclaration<"name" | "controller"> = {
  name: "workqueue_depth",
  type: "gauge",
  help: "Current depth of the work queue: keys that could be taken",
  labels: ["name", "controller"],
  processes,
};

export const queueAdds: CounterDeclaration<"name" | "controller"> = {
  name: "workqueue_adds_total",
  type: "counter",
  help: "Total number of adds handled by the work queue; a key that waits already is not added",
  labels: ["name", "controller"],
  processes,
};

export const queueDuration: HistogramDeclaration<"name" | "controller"> = {
  name: "workqueue_queue_duration_seconds",
  type: "histogram",
  help: "How long in seconds a key stays in the work queue before it is taken",
  labels: ["name", "controller"],
  buckets: queueBuckets,
  processes,
};

export const workDuration: HistogramDeclaration<"name" | "controller"> = {
  name: "workqueue_work_duration_seconds",
  type: "histogram",
  help: "How long in seconds the work on a key of the work queue takes",
  labels: ["name", "controller"],
  buckets: queueBuckets,
  processes,
};

export const unfinishedWork: GaugeDeclaration<"name" | "controller"> = {
  name: "workqueue_unfinished_work_seconds",
  type: "gauge",
  help: "How many seconds of work are in progress and not yet observed by work_duration; large values show stuck workers",
  labels: ["name", "controller"],
  processes,
};

export const longestRunning: GaugeDeclaration<"name" | "controller"> = {
  name: "workqueue_longest_running_processor_seconds",
  type: "gauge",
  help: "How many seconds the longest running work on a key has been running",
  labels: ["name", "controller"],
  combine: "max",
  processes,
};

export const queueRetries: CounterDeclaration<"name" | "controller"> = {
  name: "workqueue_retries_total",
  type: "counter",
  help: "Total number of retries handled by the work queue",
  labels: ["name", "controller"],
  processes,
};

export const masterStatus: GaugeDeclaration<"name"> = {
  name: "leader_election_master_status",
  type: "gauge",
  help: "Whether this process holds the lease of that name: 1 when it does, 0 while it stands by",
  labels: ["name"],
  processes,
};
