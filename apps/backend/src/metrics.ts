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
