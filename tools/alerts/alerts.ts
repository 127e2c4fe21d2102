/** The alerts, once: docs/monitoring.md and the PrometheusRules of both charts are printed from this table. */
import type { Alert, AlertChart } from "./alert.ts";
import { objectiveAlerts } from "./objectives.ts";

export type { Alert, AlertChart } from "./alert.ts";

/** A number that people adjust; it is a value of the chart. */
export interface Threshold {
  /** Below `prometheusRule`. */
  readonly value: string;
  readonly default: number;
}

/** Jobs of a chart's processes, as a regular expression: other programs have metrics of the same names. */
export const jobsOf: Readonly<Record<AlertChart, string>> = {
  klutch: "klutch-backend-metrics|.*/klutch-(provider|function)",
  "klutch-konnector": "konnector-metrics",
};

/** Thresholds by the name that expressions use. */
export const thresholds: Readonly<Record<string, Threshold>> = {
  credentialHours: { value: "credentialHours", default: 6 },
  backupHours: { value: "backupHours", default: 48 },
  queueSeconds: { value: "queueSeconds", default: 600 },
  badPerThousand: { value: "canaryBadPerThousand", default: 5 },
  syncSeconds: { value: "syncSeconds", default: 30 },
};

const both: readonly AlertChart[] = ["klutch", "klutch-konnector"];
const controlPlane: readonly AlertChart[] = ["klutch"];
const appCluster: readonly AlertChart[] = ["klutch-konnector"];

/** All alerts, the processes' own first. */
export const alerts: readonly Alert[] = [
  {
    name: "KlutchNoLeader",
    charts: both,
    severity: "critical",
    forMinutes: 5,
    expression: "sum by (name) (leader_election_master_status{$jobs}) == 0",
    summary: "No replica holds the lease {{ $labels.name }}, so its controllers do not run.",
  },
  {
    name: "KlutchQueueStuck",
    charts: both,
    severity: "warning",
    forMinutes: 5,
    expression: "max by (name) (workqueue_longest_running_processor_seconds{$jobs}) > $queueSeconds",
    summary:
      "A worker of the queue {{ $labels.name }} has been busy with one object for {{ $value | humanizeDuration }}.",
  },
  {
    name: "KlutchQueueGrows",
    charts: both,
    severity: "warning",
    forMinutes: 15,
    expression:
      "sum by (name) (workqueue_depth{$jobs}) > 100 and sum by (name) (deriv(workqueue_depth{$jobs}[15m])) > 0",
    summary: "The queue {{ $labels.name }} is longer than 100 objects and grows.",
  },
  {
    name: "KlutchReconcilesFail",
    charts: both,
    severity: "warning",
    forMinutes: 30,
    expression: "sum by (controller) (rate(controller_runtime_reconcile_errors_total{$jobs}[15m])) > 0.1",
    summary: "The controller {{ $labels.controller }} fails again and again.",
  },
  {
    name: "KlutchServedCertificateEnds",
    charts: controlPlane,
    severity: "warning",
    forMinutes: 60,
    expression: "klutch_served_certificate_expiration_timestamp_seconds - time() < 7 * 24 * 3600",
    summary: "The certificate that {{ $labels.pod }} serves ends within seven days.",
  },
  {
    name: "KlutchBrokerDown",
    charts: controlPlane,
    severity: "critical",
    forMinutes: 5,
    expression: "klutch_broker_healthy == 0",
    summary:
      "The service broker or backup manager of ProviderConfig {{ $labels.config }} does not answer as it should.",
  },
  {
    name: "KlutchBrokerFails",
    charts: controlPlane,
    severity: "warning",
    forMinutes: 15,
    expression:
      'sum(rate(klutch_broker_requests_total{code=~"5..|error"}[15m])) / sum(rate(klutch_broker_requests_total[15m])) > 0.2',
    summary: "A fifth of the requests to service brokers and backup managers fails.",
  },
  {
    name: "KlutchManagedResourcesFail",
    charts: controlPlane,
    severity: "warning",
    forMinutes: 30,
    expression: 'sum by (kind, service, reason) (klutch_managed_resources{state="failed"}) > 0',
    summary:
      "{{ $value }} managed resources ({{ $labels.kind }}, {{ $labels.service }}) have failed: {{ $labels.reason }}.",
  },
  {
    name: "KlutchInstanceLeftAtBroker",
    charts: controlPlane,
    severity: "critical",
    forMinutes: 5,
    expression: "klutch_vanished_instances > 0",
    summary: "{{ $value }} databases are left at their brokers without a record in the control plane.",
  },
  {
    name: "KlutchBackupTooOld",
    charts: controlPlane,
    severity: "warning",
    forMinutes: 60,
    expression: "time() - klutch_last_backup_timestamp_seconds > $backupHours * 3600",
    summary:
      "An instance of {{ $labels.service }} in {{ $labels.claim_namespace }} was last backed up {{ $value | humanizeDuration }} ago.",
  },
  {
    name: "KlutchTenantLimitReached",
    charts: controlPlane,
    severity: "warning",
    forMinutes: 15,
    expression: "klutch_tenant_limits_reached > 0",
    summary: "{{ $value }} tenants have as many {{ $labels.resource }} as they may, so new ones are refused.",
  },
  {
    name: "KlutchTenantOverBudget",
    charts: controlPlane,
    severity: "warning",
    forMinutes: 15,
    expression: "klutch_tenant_budget_used_ratio >= 1",
    summary:
      "Tenant {{ $labels.tenant }} has spent {{ $value | humanizePercentage }} of its budget of this month.",
  },
  {
    name: "KlutchTenantCredentialEnds",
    charts: controlPlane,
    severity: "critical",
    forMinutes: 15,
    expression: "klutch_tenant_credential_expiration_timestamp_seconds - time() < $credentialHours * 3600",
    summary:
      "The credential of tenant {{ $labels.tenant }} ends in {{ $value | humanizeDuration }} and was not renewed.",
  },
  {
    name: "KlutchAppClusterAway",
    charts: controlPlane,
    severity: "warning",
    forMinutes: 15,
    expression: 'sum(klutch_app_clusters{state="not_ready",reason="HeartbeatTimeout"}) > 0',
    summary: "{{ $value }} app clusters have not reported for minutes.",
  },
  {
    name: "KlutchBindingNotReady",
    charts: appCluster,
    severity: "warning",
    forMinutes: 15,
    expression: 'sum(klutch_bindings{state="not_ready"}) > 0',
    summary: "{{ $value }} bound APIs do not work in this app cluster.",
  },
  {
    name: "KlutchControlPlaneAway",
    charts: appCluster,
    severity: "critical",
    forMinutes: 5,
    expression:
      'max by (reason) (klutch_binding_problems{condition="Heartbeating",reason=~"ProviderUnreachable|CredentialRefused"}) > 0',
    summary: "The konnector does not reach the control plane ({{ $labels.reason }}), so changes wait.",
  },
  {
    name: "KlutchDeletionsHeld",
    charts: appCluster,
    severity: "warning",
    forMinutes: 1,
    expression: 'sum by (reason) (klutch_binding_problems{condition="DeletionHeld"}) > 0',
    summary:
      "Deletions of {{ $value }} APIs look like an accident ({{ $labels.reason }}) and wait for a decision.",
  },
  {
    name: "KlutchCreationsHeld",
    charts: appCluster,
    severity: "critical",
    forMinutes: 1,
    expression: 'sum by (reason) (klutch_binding_problems{condition="CreationHeld"}) > 0',
    summary: "Claims of {{ $value }} APIs lost their objects ({{ $labels.reason }}) and wait for a decision.",
  },
  {
    name: "KlutchClaimsPending",
    charts: appCluster,
    severity: "warning",
    forMinutes: 30,
    expression:
      'sum by (resource) (klutch_claims{state="pending"}) > 0 and sum by (resource) (rate(klutch_sync_writes_total[15m])) == 0',
    summary: "{{ $value }} {{ $labels.resource }} wait, and nothing is written.",
  },
  {
    name: "KlutchSyncSlow",
    charts: appCluster,
    severity: "warning",
    forMinutes: 15,
    expression:
      "histogram_quantile(0.99, sum by (le, resource) (rate(klutch_sync_lag_seconds_bucket[15m]))) > $syncSeconds",
    summary:
      "One of a hundred changes of {{ $labels.resource }} takes {{ $value | humanizeDuration }} to cross.",
  },
  {
    name: "KlutchCredentialEnds",
    charts: appCluster,
    severity: "critical",
    forMinutes: 15,
    expression: "klutch_credential_expiration_timestamp_seconds - time() < $credentialHours * 3600",
    summary:
      "The credential for {{ $labels.host }} ends in {{ $value | humanizeDuration }} and was not renewed.",
  },
  ...objectiveAlerts,
];
