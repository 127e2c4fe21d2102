/** Metrics of the backend, beside those of requests and reconciles. */
import type { CounterDeclaration, GaugeDeclaration, ProcessName } from "@klutch/telemetry";

const ofBackend: readonly ProcessName[] = ["backend"];

export const clusterBindings: GaugeDeclaration = {
  name: "klutch_cluster_bindings",
  type: "gauge",
  help: "App clusters that are bound to this control plane",
  labels: [],
  processes: ofBackend,
};

export const serviceNamespaces: GaugeDeclaration = {
  name: "klutch_service_namespaces",
  type: "gauge",
  help: "Namespaces of app clusters that are mapped to this control plane",
  labels: [],
  processes: ofBackend,
};

export const unauthorizedExports: GaugeDeclaration = {
  name: "klutch_unauthorized_exports",
  type: "gauge",
  help: "Bound APIs that no one who bound them may bind any more",
  labels: [],
  processes: ofBackend,
};

export const auditDecisions: CounterDeclaration<"decision" | "allowed" | "reason"> = {
  name: "klutch_audit_decisions_total",
  type: "counter",
  help: "Decisions about access, each with a line in the audit log",
  notes: "`decision` and `reason` are as in docs/reference/audit.md, and `allowed` is `true` or `false`.",
  labels: ["decision", "allowed", "reason"],
  processes: ofBackend,
};

export const logins: CounterDeclaration<"way"> = {
  name: "klutch_logins_total",
  type: "counter",
  help: "Logins that ended with a credential, by the way in which the plugin got it",
  notes:
    "`way` is `confirmed`, `ci` for programs, `token` for konnectors that bind by themselves, `session` for a session of `klutch login`, or `redirect` for plugins that confirm no login: earlier ones, and those in Go. `--require-confirmed-login` refuses these.",
  labels: ["way"],
  processes: ofBackend,
};

export const canaryAnswers: CounterDeclaration<"state"> = {
  name: "klutch_canary_answers_total",
  type: "counter",
  help: "Probes of app clusters, by what became of them here",
  notes:
    "`state` is `answered`, `failed` (an answer could not be written and is tried again), or `held` (the app cluster asks more often than `--canary-answers-per-minute` allows, so it waits).",
  labels: ["state"],
  processes: ofBackend,
};

/** Tenants (by default), kinds and plans that are shown each by itself. */
const mostShown = 50;
const mostReasons = 30;

export const appClusters: GaugeDeclaration<"state" | "reason"> = {
  name: "klutch_app_clusters",
  type: "gauge",
  help: "App clusters by state, as the process that holds the lease sees them",
  notes:
    "`state` is `ready`, `not_ready` or `deleting`; `reason` is that of the ClusterBinding's condition `Healthy`.",
  labels: ["state", "reason"],
  topValues: { reason: mostReasons },
  processes: ofBackend,
};

export const tenantObjects: GaugeDeclaration<"tenant" | "resource"> = {
  name: "klutch_tenant_objects",
  type: "gauge",
  help: "Objects of limited kinds that tenants have",
  notes: "`tenant` is the cluster namespace.",
  labels: ["tenant", "resource"],
  topValues: { tenant: mostShown, resource: mostShown },
  processes: ofBackend,
};

export const tenantObjectLimit: GaugeDeclaration<"tenant" | "resource"> = {
  name: "klutch_tenant_object_limit",
  type: "gauge",
  help: "Objects of limited kinds that tenants may have",
  labels: ["tenant", "resource"],
  topValues: { tenant: mostShown, resource: mostShown },
  processes: ofBackend,
};

export const limitsReached: GaugeDeclaration<"resource"> = {
  name: "klutch_tenant_limits_reached",
  type: "gauge",
  help: "Tenants that have as many objects of a kind as they may",
  labels: ["resource"],
  topValues: { resource: mostShown },
  processes: ofBackend,
};

export const tenantBudgetUsed: GaugeDeclaration<"tenant"> = {
  name: "klutch_tenant_budget_used_ratio",
  type: "gauge",
  help: "Share of a tenant's budget of this month that is spent; of several tenants the largest",
  notes:
    "1 is all of it, in whole percent. Tenants without a budget, or whose cost cannot be told, have none. See docs/cost.md.",
  labels: ["tenant"],
  topValues: { tenant: mostShown },
  combine: "max",
  processes: ofBackend,
};

export const tenantCredentialEnd: GaugeDeclaration<"tenant"> = {
  name: "klutch_tenant_credential_expiration_timestamp_seconds",
  type: "gauge",
  help: "When the credential of a tenant ends, in seconds since the epoch; of several tenants the earliest",
  notes: "Those that do not end have none.",
  labels: ["tenant"],
  topValues: { tenant: mostShown },
  combine: "min",
  processes: ofBackend,
};

export const controlPlaneClaims: GaugeDeclaration<"tenant" | "resource" | "plan" | "state" | "reason"> = {
  name: "klutch_control_plane_claims",
  type: "gauge",
  help: "Claims of bound kinds in the control plane by tenant, kind, plan and state",
  notes:
    "`state` and `reason` are as in `klutch_managed_resources`. Namespaced composites are their own claims, and are counted as managed resources only.",
  labels: ["tenant", "resource", "plan", "state", "reason"],
  topValues: { tenant: mostShown, resource: mostShown, plan: mostShown, reason: mostReasons },
  processes: ofBackend,
};
