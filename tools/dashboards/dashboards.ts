/** The dashboards, once: the charts ship what is printed from these tables. */
import { type Dashboard, one, type Panel, quantiles, type Section } from "./panel.ts";

/** Red for none, and for two that believe to have the same lease. */
const leaseHolders: Panel = {
  title: "Lease holders",
  about: "One replica holds each lease; 0 means that no one works.",
  unit: "none",
  thresholds: [{ color: "red" }, { color: "green", from: 1 }, { color: "red", from: 2 }],
  queries: one("sum by (name) (leader_election_master_status{$jobs})", "{{name}}"),
};

const controllerErrors: Panel = {
  title: "Errors of controllers",
  about: "Reconciles that failed and are tried again.",
  unit: "ops",
  queries: one(
    "sum by (controller) (rate(controller_runtime_reconcile_errors_total{$jobs}[$window]))",
    "{{controller}}",
  ),
};

/** The processes of a chart, which both dashboards have. */
const processes: Section = {
  title: "Processes",
  panels: [
    {
      title: "Queue depth",
      about: "Objects that wait for a worker.",
      unit: "none",
      queries: one("sum by (name) (workqueue_depth{$jobs})", "{{name}}"),
    },
    {
      title: "Requests to API servers",
      about: "Each status code apart; <error> stands for no answer.",
      unit: "reqps",
      thirds: 2,
      queries: one("sum by (code) (rate(rest_client_requests_total{$jobs}[$window]))", "{{code}}"),
    },
    {
      title: "Memory",
      about: "Resident memory of each process.",
      unit: "bytes",
      queries: one("process_resident_memory_bytes{$jobs}", "{{job}} {{instance}}"),
    },
    {
      title: "CPU",
      about: "Part of a core that each process uses.",
      unit: "percentunit",
      thirds: 2,
      queries: one("rate(process_cpu_seconds_total{$jobs}[$window])", "{{job}} {{instance}}"),
    },
  ],
};

const exists = (state: string): string => `sum(crossplane_managed_resource_${state})`;

const controlPlane: Dashboard = {
  chart: "klutch",
  name: "control-plane",
  title: "Klutch control plane",
  sections: [
    {
      title: "Health",
      panels: [
        {
          title: "Brokers that answer",
          about: "1 where the service broker or backup manager of a ProviderConfig is well.",
          unit: "none",
          thresholds: [{ color: "red" }, { color: "green", from: 1 }],
          queries: one("min by (config) (klutch_broker_healthy)", "{{config}}"),
        },
        leaseHolders,
        controllerErrors,
        {
          title: "App clusters",
          about: "By state, with the reason of those that are not ready.",
          unit: "none",
          queries: one("sum by (state, reason) (klutch_app_clusters)", "{{state}} {{reason}}"),
        },
        {
          title: "Claims by state",
          about: "Claims of bound kinds in the control plane.",
          unit: "none",
          queries: one("sum by (state) (klutch_control_plane_claims)", "{{state}}"),
        },
        {
          title: "Managed resources",
          about: "Those that exist, and those of them that are ready and in sync with their broker.",
          unit: "none",
          queries: ["exists", "ready", "synced"].map((state) => ({
            expression: exists(state),
            legend: state,
          })),
        },
      ],
    },
    {
      title: "Claims and databases",
      panels: [
        {
          title: "Managed resources by service and state",
          about: "With the reason of those that wait or failed.",
          unit: "none",
          thirds: 2,
          queries: one(
            "sum by (kind, service, state, reason) (klutch_managed_resources)",
            "{{kind}} {{service}} {{state}} {{reason}}",
          ),
        },
        {
          title: "Time to readiness",
          about:
            "From the creation of a managed resource until it is ready for the first time, of those that became ready in the last hour.",
          unit: "s",
          queries: quantiles("crossplane_managed_resource_first_time_to_readiness_seconds", "", "1h"),
        },
        {
          title: "Instances by broker",
          about: "The number of instances that each broker has, and their state.",
          unit: "none",
          queries: one(
            'sum by (config, state) (klutch_managed_resources{kind="instance"})',
            "{{config}} {{state}}",
          ),
        },
        {
          title: "Claims by tenant",
          about: "The ten tenants with the most claims.",
          unit: "none",
          queries: one(
            'topk(10, sum by (tenant) (klutch_control_plane_claims{tenant!="other"}))',
            "{{tenant}}",
          ),
        },
        {
          title: "Requests to brokers",
          about: "Each operation and status code apart.",
          unit: "reqps",
          queries: one(
            "sum by (operation, code) (rate(klutch_broker_requests_total[$window]))",
            "{{operation}} {{code}}",
          ),
        },
        {
          title: "Size of databases",
          about: "Of those whose broker tells it (docs/cost.md).",
          unit: "bytes",
          queries: one("sum by (service) (klutch_instance_bytes)", "{{service}}"),
        },
        {
          title: "Idle databases",
          about:
            "Without a session for 30 days, where the broker tells of sessions; `klutch cost --idle` names them.",
          unit: "none",
          thirds: 2,
          queries: one("sum by (service, plan) (klutch_idle_instances)", "{{service}} {{plan}}"),
        },
      ],
    },
    {
      title: "App clusters and their people",
      panels: [
        {
          title: "Time until credentials of tenants end",
          about: "They are renewed after half of their life.",
          unit: "s",
          canBeNegative: true,
          queries: one(
            "min by (tenant) (klutch_tenant_credential_expiration_timestamp_seconds) - time()",
            "{{tenant}}",
          ),
        },
        {
          title: "Use of limits",
          about: "Objects of limited kinds, as a part of what the tenant may have.",
          unit: "percentunit",
          queries: one(
            "sum by (tenant, resource) (klutch_tenant_objects) / sum by (tenant, resource) (klutch_tenant_object_limit)",
            "{{tenant}} {{resource}}",
          ),
        },
        {
          title: "Canary answers",
          about:
            "Probes of app clusters that the backend answered, could not answer, or held because they came too often.",
          unit: "cpm",
          queries: one("60 * sum by (state) (rate(klutch_canary_answers_total[$window]))", "{{state}}"),
        },
        {
          title: "Decisions about access",
          about:
            "Logins, bindings and grants that were allowed or refused; the audit log has a line for each.",
          unit: "cpm",
          thirds: 3,
          queries: one(
            "60 * sum by (decision, allowed) (rate(klutch_audit_decisions_total[$window]))",
            "{{decision}} allowed {{allowed}}",
          ),
        },
      ],
    },
    {
      title: "Backups",
      panels: [
        {
          title: "Age of the last good backup",
          about: "The oldest of each service and namespace of claims.",
          unit: "s",
          queries: one(
            "time() - min by (service, claim_namespace) (klutch_last_backup_timestamp_seconds)",
            "{{service}} {{claim_namespace}}",
          ),
        },
        {
          title: "Kept backups",
          about: "Backups that backup managers keep, and those of them whose size is unknown.",
          unit: "none",
          queries: one("sum by (service, size) (klutch_kept_backups)", "{{service}} size {{size}}"),
        },
        {
          title: "Size of kept backups",
          about: "Of those whose size the backup manager told.",
          unit: "bytes",
          queries: one("sum by (service) (klutch_kept_backup_bytes)", "{{service}}"),
        },
      ],
    },
    {
      title: "Cost",
      panels: [
        {
          title: "Cost per hour",
          about: "Price of all existing instances, where plans have prices (docs/cost.md).",
          unit: "short",
          queries: one("sum by (service, currency) (klutch_cost_per_hour)", "{{service}} {{currency}}"),
        },
        {
          title: "Cost per hour of tenants",
          about: "The ten dearest namespaces of claims.",
          unit: "short",
          queries: one(
            'topk(10, sum by (claim_namespace, currency) (klutch_claim_cost_per_hour{claim_namespace!="other"}))',
            "{{claim_namespace}} {{currency}}",
          ),
        },
        {
          title: "Cost of backups per hour",
          about: "Price of the kept backups of a known size, where backups have prices (docs/cost.md).",
          unit: "short",
          queries: one(
            "sum by (service, currency) (klutch_backup_cost_per_hour)",
            "{{service}} {{currency}}",
          ),
        },
      ],
    },
    processes,
  ],
};

/** Returns the query for the burn rate of the error budget in a window. */
const burnRate = (window: string): string =>
  `slo:sli_error:ratio_rate${window}{sloth_slo="canary"} / slo:error_budget:ratio{sloth_slo="canary"}`;

const appCluster: Dashboard = {
  chart: "klutch-konnector",
  name: "app-cluster",
  title: "Klutch app cluster",
  sections: [
    {
      title: "Health",
      panels: [
        {
          title: "Error budget that is left",
          about: "Of three days; below 0 the objective of the canary is missed at this pace.",
          unit: "percentunit",
          thresholds: [{ color: "red" }, { color: "orange", from: 0 }, { color: "green", from: 0.25 }],
          canBeNegative: true,
          queries: one(`1 - ${burnRate("3d")}`, "left"),
        },
        leaseHolders,
        controllerErrors,
        {
          title: "Bound APIs",
          about: "Those that are ready, and those that are not.",
          unit: "none",
          queries: one("sum by (state) (klutch_bindings)", "{{state}}"),
        },
        {
          title: "Problems of bound APIs",
          about:
            "Each condition and reason apart (docs/troubleshooting.md); Heartbeating tells of the connection to the control plane.",
          unit: "none",
          thirds: 2,
          queries: one("sum by (condition, reason) (klutch_binding_problems)", "{{condition}} {{reason}}"),
        },
      ],
    },
    {
      title: "Sync",
      panels: [
        {
          title: "Claims",
          about: "Objects of bound APIs that are in sync with the control plane, or wait.",
          unit: "none",
          queries: one("sum by (resource, state) (klutch_claims)", "{{resource}} {{state}}"),
        },
        {
          title: "Sync lag",
          about: "The time for which an object and its counterpart differed.",
          unit: "s",
          queries: quantiles("klutch_sync_lag_seconds", "resource"),
        },
        {
          title: "Sync writes by step",
          about: "What the konnector writes in both clusters; at rest it writes nothing.",
          unit: "wps",
          queries: one("sum by (step) (rate(klutch_sync_writes_total[$window]))", "{{step}}"),
        },
      ],
    },
    {
      title: "Connection to the control plane",
      panels: [
        {
          title: "Burn rate of the error budget",
          about: "1 uses it up in 30 days; an hour at 14.4 pages.",
          unit: "short",
          queries: (["5m", "1h", "6h", "3d"] as const).map((window) => ({
            expression: burnRate(window),
            legend: window,
          })),
        },
        {
          title: "Canary: outcomes",
          about: "Probes on the way of claims, up and down; one each minute.",
          unit: "cpm",
          thirds: 2,
          queries: one("60 * sum by (outcome) (rate(klutch_canary_probes_total[$window]))", "{{outcome}}"),
        },
        {
          title: "Canary: lag",
          about: "From the moment when a probe is sent until its answer is seen.",
          unit: "s",
          queries: quantiles("klutch_canary_seconds", "", "10m"),
        },
        {
          title: "Time until the credential ends",
          about: "It is renewed after half of its life.",
          unit: "s",
          thirds: 2,
          canBeNegative: true,
          queries: one("min by (host) (klutch_credential_expiration_timestamp_seconds) - time()", "{{host}}"),
        },
      ],
    },
    processes,
  ],
};

/** All of them, one for each chart. */
export const dashboards: readonly Dashboard[] = [controlPlane, appCluster];

/** Returns the panels of a dashboard in the order in which people see them. */
export function panelsIn({ sections }: Dashboard): readonly Panel[] {
  return sections.flatMap(({ panels }) => panels);
}
