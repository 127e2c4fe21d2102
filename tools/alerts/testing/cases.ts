/** A fault for each alert, as series of metrics: what makes it fire, and the same series while all is well. */

import { objectiveLabels } from "../objectives.ts";

/** Values by series, without the label `job`. */
type Series = Readonly<Record<string, string>>;

/** A fault and its alert. */
export interface Case {
  readonly alert: string;
  readonly well: Series;
  readonly fault: Series;
  /** Labels of the alert that fires, besides those of the rule. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Minutes after the fault, at whose end the alert is silent. Default 200. */
  readonly afterwards?: number;
}

/** Minutes of each part. */
const before = 180;
const during = 360;

/** Returns the input of promtool: constants for each part, or with a `+` before it growth from minute to minute. */
export function series(
  job: string,
  well: Series,
  fault: Series,
  afterwards = 200,
): readonly { readonly series: string; readonly values: string }[] {
  return Object.entries(well).map(([name, value]) => ({
    series: name.includes("{") ? name.replace("{", `{job="${job}",`) : `${name}{job="${job}"}`,
    values: valuesOf(value, fault[name] ?? value, afterwards),
  }));
}

function valuesOf(well: string, fault: string, afterwards: number): string {
  if (fault.includes("+", 1)) return `${well}x${before} ${fault}x${during} ${well}x${afterwards}`;
  if (!fault.startsWith("+") && !well.startsWith("+"))
    return `${well}x${before} ${fault}x${during} ${well}x${afterwards}`;
  // A counter goes on from where it is.
  const [slow, fast] = [Number(well), Number(fault)];
  const first = slow * before;
  const second = first + fast * during;
  return `0+${slow}x${before} ${first}+${fast}x${during} ${second}+${slow}x${afterwards}`;
}

/** In promtool's tests time begins at 0, so ends and backups are counted in seconds from there. */
const hour = 3600;

/** One for each alert. */
export const cases: readonly Case[] = [
  {
    alert: "KlutchNoLeader",
    well: {
      'leader_election_master_status{name="a",pod="one"}': "1",
      'leader_election_master_status{name="a",pod="two"}': "0",
    },
    fault: { 'leader_election_master_status{name="a",pod="one"}': "0" },
    labels: { name: "a" },
  },
  {
    alert: "KlutchQueueStuck",
    well: { 'workqueue_longest_running_processor_seconds{name="q"}': "2" },
    fault: { 'workqueue_longest_running_processor_seconds{name="q"}': "1800" },
    labels: { name: "q" },
  },
  {
    alert: "KlutchQueueGrows",
    well: { 'workqueue_depth{name="q"}': "3" },
    fault: { 'workqueue_depth{name="q"}': "101+7" },
    labels: { name: "q" },
  },
  {
    alert: "KlutchReconcilesFail",
    well: { 'controller_runtime_reconcile_errors_total{controller="c"}': "+1" },
    fault: { 'controller_runtime_reconcile_errors_total{controller="c"}': "+20" },
    labels: { controller: "c" },
  },
  {
    alert: "KlutchServedCertificateEnds",
    well: { klutch_served_certificate_expiration_timestamp_seconds: String(1000 * hour) },
    fault: { klutch_served_certificate_expiration_timestamp_seconds: String(100 * hour) },
    labels: { job: "klutch-backend-metrics" },
  },
  {
    alert: "KlutchBrokerDown",
    well: { 'klutch_broker_healthy{config="pg"}': "1", 'klutch_broker_healthy{config="other"}': "1" },
    fault: { 'klutch_broker_healthy{config="pg"}': "0" },
    labels: { config: "pg", job: "klutch-backend-metrics" },
  },
  {
    alert: "KlutchBrokerFails",
    well: {
      'klutch_broker_requests_total{code="200"}': "+10",
      'klutch_broker_requests_total{code="error"}': "+1",
    },
    fault: { 'klutch_broker_requests_total{code="error"}': "+5" },
  },
  {
    alert: "KlutchManagedResourcesFail",
    well: { 'klutch_managed_resources{kind="instance",service="pg",state="failed",reason="Refused"}': "0" },
    fault: { 'klutch_managed_resources{kind="instance",service="pg",state="failed",reason="Refused"}': "2" },
    labels: { kind: "instance", service: "pg", reason: "Refused" },
  },
  {
    alert: "KlutchInstanceLeftAtBroker",
    well: { klutch_vanished_instances: "0" },
    fault: { klutch_vanished_instances: "1" },
    labels: { job: "klutch-backend-metrics" },
  },
  {
    alert: "KlutchBackupTooOld",
    well: { 'klutch_last_backup_timestamp_seconds{service="pg",claim_namespace="n"}': "0" },
    fault: { 'klutch_last_backup_timestamp_seconds{service="pg",claim_namespace="n"}': String(-60 * hour) },
    labels: { service: "pg", claim_namespace: "n", job: "klutch-backend-metrics" },
  },
  {
    alert: "KlutchTenantLimitReached",
    well: { 'klutch_tenant_limits_reached{resource="databases"}': "0" },
    fault: { 'klutch_tenant_limits_reached{resource="databases"}': "1" },
    labels: { resource: "databases", job: "klutch-backend-metrics" },
  },
  {
    alert: "KlutchTenantOverBudget",
    well: { 'klutch_tenant_budget_used_ratio{tenant="t"}': "0.99" },
    fault: { 'klutch_tenant_budget_used_ratio{tenant="t"}': "1" },
    labels: { tenant: "t", job: "klutch-backend-metrics" },
  },
  {
    alert: "KlutchTenantCredentialEnds",
    well: { 'klutch_tenant_credential_expiration_timestamp_seconds{tenant="t"}': String(24 * hour) },
    fault: { 'klutch_tenant_credential_expiration_timestamp_seconds{tenant="t"}': String(5 * hour) },
    labels: { tenant: "t", job: "klutch-backend-metrics" },
  },
  {
    alert: "KlutchAppClusterAway",
    well: { 'klutch_app_clusters{state="not_ready",reason="HeartbeatTimeout"}': "0" },
    fault: { 'klutch_app_clusters{state="not_ready",reason="HeartbeatTimeout"}': "1" },
  },
  {
    alert: "KlutchBindingNotReady",
    well: { 'klutch_bindings{state="not_ready"}': "0", 'klutch_bindings{state="ready"}': "4" },
    fault: { 'klutch_bindings{state="not_ready"}': "1" },
  },
  {
    alert: "KlutchControlPlaneAway",
    well: { 'klutch_binding_problems{condition="Heartbeating",reason="ProviderUnreachable"}': "0" },
    fault: { 'klutch_binding_problems{condition="Heartbeating",reason="ProviderUnreachable"}': "3" },
    labels: { reason: "ProviderUnreachable" },
  },
  {
    alert: "KlutchDeletionsHeld",
    well: { 'klutch_binding_problems{condition="DeletionHeld",reason="MassDeletion"}': "0" },
    fault: { 'klutch_binding_problems{condition="DeletionHeld",reason="MassDeletion"}': "1" },
    labels: { reason: "MassDeletion" },
  },
  {
    alert: "KlutchCreationsHeld",
    well: { 'klutch_binding_problems{condition="CreationHeld",reason="ProviderRestored"}': "0" },
    fault: { 'klutch_binding_problems{condition="CreationHeld",reason="ProviderRestored"}': "2" },
    labels: { reason: "ProviderRestored" },
  },
  {
    alert: "KlutchClaimsPending",
    well: {
      'klutch_claims{resource="pgs",state="pending"}': "0",
      'klutch_sync_writes_total{resource="pgs",step="s"}': "5",
    },
    fault: { 'klutch_claims{resource="pgs",state="pending"}': "2" },
    labels: { resource: "pgs" },
  },
  {
    alert: "KlutchSyncSlow",
    well: {
      'klutch_sync_lag_seconds_bucket{resource="pgs",le="1"}': "+10",
      'klutch_sync_lag_seconds_bucket{resource="pgs",le="60"}': "+10",
      'klutch_sync_lag_seconds_bucket{resource="pgs",le="+Inf"}': "+10",
    },
    fault: { 'klutch_sync_lag_seconds_bucket{resource="pgs",le="1"}': "+1" },
    labels: { resource: "pgs" },
  },
  {
    alert: "KlutchCredentialEnds",
    well: { 'klutch_credential_expiration_timestamp_seconds{host="h"}': String(24 * hour) },
    fault: { 'klutch_credential_expiration_timestamp_seconds{host="h"}': String(5 * hour) },
    labels: { host: "h", job: "konnector-metrics" },
  },
  {
    alert: "KlutchErrorBudgetBurnsFast",
    well: canary("+1", "+0"),
    fault: canary("+0", "+1"),
    labels: objectiveLabels,
  },
  {
    alert: "KlutchErrorBudgetBurns",
    well: canary("+1", "+0"),
    // One of fifty: a page would be too much.
    fault: canary("+49", "+1"),
    labels: objectiveLabels,
    afterwards: 800,
  },
];

/** Growth of probes in a minute. */
function canary(answered: string, lost: string): Series {
  return {
    'klutch_canary_probes_total{outcome="answered"}': answered,
    'klutch_canary_probes_total{outcome="lost"}': lost,
    // A control plane that answers none has no say.
    'klutch_canary_probes_total{outcome="unsupported"}': "+5",
  };
}
