/** Metrics of the backend, beside those of requests and reconciles. */
import type { GaugeDeclaration, ProcessName } from "@klutch/telemetry";

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
