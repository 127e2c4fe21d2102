/** Metrics of the konnector, beside those of requests and reconciles. Labels hold kinds and results, never names. */
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  ProcessName,
} from "@klutch/telemetry";

const processes: readonly ProcessName[] = ["konnector"];

export const bindings: GaugeDeclaration<"state"> = {
  name: "klutch_bindings",
  type: "gauge",
  help: "APIServiceBindings of this agent by state, as the process that holds the lease sees them",
  notes: "`state` is `ready`, `not_ready` or `unbinding`.",
  labels: ["state"],
  processes,
};

export const bindingProblems: GaugeDeclaration<"condition" | "reason"> = {
  name: "klutch_binding_problems",
  type: "gauge",
  help: "APIServiceBindings of this agent with a condition that reports a problem, by condition and reason",
  notes:
    "Both are as in docs/troubleshooting.md: `DeletionHeld`, or `Heartbeating` with `ProviderUnreachable` while the control plane is away.",
  labels: ["condition", "reason"],
  topValues: { condition: 30, reason: 30 },
  processes,
};

export const claims: GaugeDeclaration<"resource" | "state"> = {
  name: "klutch_claims",
  type: "gauge",
  help: "Objects of bound APIs in the app cluster by resource and state",
  notes:
    "`state` is `in_sync` or `pending` (known to differ, or being deleted). After a start all are `in_sync` until they were compared; see `workqueue_depth`.",
  labels: ["resource", "state"],
  processes,
};

export const syncWrites: CounterDeclaration<"resource" | "step"> = {
  name: "klutch_sync_writes_total",
  type: "counter",
  help: "Writes of the sync, by resource and step",
  notes: "`step` is what was done, such as `applyProvider` or `writeStatus`.",
  labels: ["resource", "step"],
  processes,
};

export const syncLag: HistogramDeclaration<"resource"> = {
  name: "klutch_sync_lag_seconds",
  type: "histogram",
  help: "How long an object and its counterpart differed, from the moment it was seen until they were in sync",
  labels: ["resource"],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
  processes,
};

export const claimedRefusals: CounterDeclaration<"resource" | "reason"> = {
  name: "klutch_claimed_refusals_total",
  type: "counter",
  help: "Objects of permission claims that did not cross, by resource and reason",
  notes: "`reason` is that of the event that reports it.",
  labels: ["resource", "reason"],
  processes,
};

export const credentialRotations: CounterDeclaration = {
  name: "klutch_credential_rotations_total",
  type: "counter",
  help: "Credentials of clusters that were taken over while the agent ran",
  labels: [],
  processes,
};

export const credentialExpiration: GaugeDeclaration<"host"> = {
  name: "klutch_credential_expiration_timestamp_seconds",
  type: "gauge",
  help: "When the credential for a provider expires, in seconds since the epoch; of several the earliest",
  labels: ["host"],
  mostValues: { host: 10 },
  combine: "min",
  processes,
};

export const canaryProbes: CounterDeclaration<"outcome"> = {
  name: "klutch_canary_probes_total",
  type: "counter",
  help: "Probes that took the way of claims to the control plane and back, by outcome",
  notes:
    "`outcome` is `answered`, `late` (after more than 10 seconds), `lost` (no answer before the next probe), `refused` or `unreachable` (it could not be sent), or `unsupported`: the control plane answers no probes, which is no failure.",
  labels: ["outcome"],
  processes,
};

export const canaryLag: HistogramDeclaration = {
  name: "klutch_canary_seconds",
  type: "histogram",
  help: "Time from the moment when a probe is sent until its answer is seen, by the konnector's clock",
  labels: [],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  processes,
};
