/** Metrics of the provider, beside those of API server requests and reconciles. */
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  ProcessName,
} from "@klutch/telemetry";

const ofProvider: readonly ProcessName[] = ["provider-anynines"];
const brokerBuckets: readonly number[] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export const brokerRequests: CounterDeclaration<"operation" | "code"> = {
  name: "klutch_broker_requests_total",
  type: "counter",
  help: "Number of requests to service brokers and backup managers, by operation and status code",
  notes:
    "`operation` is a verb of the Open Service Broker API or a call of the backup manager, `code` the status, or `error` when no answer came.",
  labels: ["operation", "code"],
  processes: ofProvider,
};

export const brokerRequestDuration: HistogramDeclaration<"operation"> = {
  name: "klutch_broker_request_duration_seconds",
  type: "histogram",
  help: "Latency of requests to service brokers and backup managers in seconds, by operation",
  labels: ["operation"],
  buckets: brokerBuckets,
  processes: ofProvider,
};

export const costPerHour: GaugeDeclaration<"service" | "plan" | "config" | "currency"> = {
  name: "klutch_cost_per_hour",
  type: "gauge",
  help: "Price of all existing instances for one hour, by service, plan, broker and currency",
  notes:
    "Plans with a price in the ConfigMap `klutch-prices`, by the names there; the 100 dearest, and the rest as `other`. `config` is the ProviderConfig of the broker as in `klutch_broker_healthy`, or `other` if it is gone. Prices of tables do not count here. See docs/cost.md.",
  labels: ["service", "plan", "config", "currency"],
  processes: ofProvider,
};

export const backupCostPerHour: GaugeDeclaration<"service" | "plan" | "config" | "currency"> = {
  name: "klutch_backup_cost_per_hour",
  type: "gauge",
  help: "Price of all kept backups of a known size for one hour, by service, plan, broker and currency of their instances",
  notes:
    "Plans with a `backupPerGiBMonth` in the ConfigMap `klutch-prices`, as `klutch_cost_per_hour`, which does not contain it.",
  labels: ["service", "plan", "config", "currency"],
  processes: ofProvider,
};

export const vanishedInstances: GaugeDeclaration = {
  name: "klutch_vanished_instances",
  type: "gauge",
  help: "Instances that are left at their brokers because their managed resources vanished without being deleted",
  labels: [],
  processes: ofProvider,
};

/** Namespaces (by default), services and plans that are shown each by itself. */
const mostShown = 50;
const mostReasons = 30;

export const managedResources: GaugeDeclaration<
  "kind" | "claim_namespace" | "service" | "plan" | "config" | "state" | "reason"
> = {
  name: "klutch_managed_resources",
  type: "gauge",
  help: "Managed resources by kind, namespace of their claim, service, plan, backend and state",
  notes:
    "`kind` is `instance`, `binding`, `backup` or `restore`; `config` is the ProviderConfig of the broker or backup manager as in `klutch_broker_healthy`, or `other` if there is none of this name; `state` is `ready`, `pending`, `failed`, `held` (its users hold its deletion) or `deleting`, and `reason` that of the condition that decides, or of `Synced` while that is False.",
  labels: ["kind", "claim_namespace", "service", "plan", "config", "state", "reason"],
  topValues: {
    claim_namespace: mostShown,
    service: mostShown,
    plan: mostShown,
    config: mostShown,
    reason: mostReasons,
  },
  processes: ofProvider,
};

export const keptBackups: GaugeDeclaration<"service" | "plan" | "config" | "size"> = {
  name: "klutch_kept_backups",
  type: "gauge",
  help: "Number of backups that backup managers keep, by service, plan and broker of their instances",
  notes: "`size` is `known`, or `unknown` if the backup manager told none.",
  labels: ["service", "plan", "config", "size"],
  topValues: { service: mostShown, plan: mostShown, config: mostShown },
  processes: ofProvider,
};

export const keptBackupBytes: GaugeDeclaration<"service" | "plan" | "config"> = {
  name: "klutch_kept_backup_bytes",
  type: "gauge",
  help: "Size of the kept backups of a known size in bytes, by service, plan and broker of their instances",
  notes: "Absent where no size is known.",
  labels: ["service", "plan", "config"],
  topValues: { service: mostShown, plan: mostShown, config: mostShown },
  processes: ofProvider,
};

export const instanceBytes: GaugeDeclaration<"claim_namespace" | "service" | "plan"> = {
  name: "klutch_instance_bytes",
  type: "gauge",
  help: "Size of the data of existing instances in bytes, by namespace of their claim, service and plan",
  notes: "Only instances whose broker tells their size; see docs/cost.md.",
  labels: ["claim_namespace", "service", "plan"],
  topValues: { claim_namespace: mostShown, service: mostShown, plan: mostShown },
  processes: ofProvider,
};

export const claimCostPerHour: GaugeDeclaration<"claim_namespace" | "service" | "plan" | "currency"> = {
  name: "klutch_claim_cost_per_hour",
  type: "gauge",
  help: "Price of existing instances for one hour, by namespace of their claim, service, plan and currency",
  notes: "Its sum is that of `klutch_cost_per_hour`, which tells it by broker. See docs/cost.md.",
  labels: ["claim_namespace", "service", "plan", "currency"],
  topValues: { claim_namespace: mostShown, service: mostShown, plan: mostShown },
  processes: ofProvider,
};

export const idleInstances: GaugeDeclaration<"claim_namespace" | "service" | "plan"> = {
  name: "klutch_idle_instances",
  type: "gauge",
  help: "Number of existing instances without a session for 30 days, by namespace of their claim, service and plan",
  notes: "Absent where no broker tells of sessions; `klutch cost --idle` names the instances.",
  labels: ["claim_namespace", "service", "plan"],
  topValues: { claim_namespace: mostShown, service: mostShown, plan: mostShown },
  processes: ofProvider,
};

export const lastBackup: GaugeDeclaration<"claim_namespace" | "service"> = {
  name: "klutch_last_backup_timestamp_seconds",
  type: "gauge",
  help: "When the last good backup of an instance ended, in seconds since the epoch; of several instances the earliest",
  notes: "Instances without any good backup have none.",
  labels: ["claim_namespace", "service"],
  topValues: { claim_namespace: mostShown, service: mostShown },
  combine: "min",
  processes: ofProvider,
};

export const brokerHealthy: GaugeDeclaration<"config"> = {
  name: "klutch_broker_healthy",
  type: "gauge",
  help: "Whether the service broker or backup manager of a ProviderConfig answers well: 1 when it does, 0 when it does not",
  notes: "`config` is the ProviderConfig, with its namespace if it has one.",
  labels: ["config"],
  topValues: { config: 50 },
  combine: "min",
  processes: ofProvider,
};
