/** What the backend and the provider hold and do, beside requests and reconciles. */
import type { GaugeDeclaration, ProcessName } from "../declaration.ts";

const ofBackend: readonly ProcessName[] = ["backend"];
const ofProvider: readonly ProcessName[] = ["provider-anynines"];

export const vanishedInstances: GaugeDeclaration = {
  name: "klutch_vanished_instances",
  type: "gauge",
  help: "Instances that are left at their brokers because their managed resources vanished without being deleted",
  labels: [],
  processes: ofProvider,
};

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
