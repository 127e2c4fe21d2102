/**
 * Patterns of label and annotation keys on objects that cross from a provider to an app cluster, in which `*` stands for any characters. The
 * agent filters by them, and its admission policy refuses the rest.
 */

/**
 * By what tools that apply and prune know which objects are theirs, and what steers them. A copy that bears it in another cluster is taken for
 * one that is no longer wanted, and deleted. `app.kubernetes.io/instance` is Argo CD's label unless it is told another, and
 * `app.kubernetes.io/managed-by` is Helm's; both are never propagated to the provider.
 */
export const ownershipMarks: readonly string[] = [
  // Argo CD and its notifications.
  "app.kubernetes.io/instance",
  "*.argoproj.io/*",
  // Flux.
  "fluxcd.io/*",
  "*.fluxcd.io/*",
  "fluxcd.controlplane.io/*",
  // Helm.
  "app.kubernetes.io/managed-by",
  "meta.helm.sh/*",
  "helm.sh/*",
  // kubectl apply --prune with an apply set; inventories of cli-utils, kpt and Config Sync; kapp; Fleet.
  "applyset.kubernetes.io/*",
  "cli-utils.sigs.k8s.io/*",
  "config.k8s.io/*",
  "config.kubernetes.io/*",
  "configsync.gke.io/*",
  "configmanagement.gke.io/*",
  "kapp.k14s.io/*",
  "objectset.rio.cattle.io/*",
  "fleet.cattle.io/*",
];

/**
 * What the app cluster takes with the provider's objects unless a permission claim names patterns of its own: keys by which people and tools
 * recognise an application. Others steer programs, also keys without a domain (`grafana_dashboard`), and which ones run here the provider must
 * not use unasked.
 */
export const safeKeyPatterns: readonly string[] = [
  "app",
  "component",
  "environment",
  "service-binding",
  "team",
  "tier",
  "version",
  "app.kubernetes.io/name",
  "app.kubernetes.io/version",
  "app.kubernetes.io/component",
  "app.kubernetes.io/part-of",
  "klutch.io/*",
];

/** Never reaches the app cluster, whatever a permission claim says: Kubernetes' own, what GitOps tools and Helm know their objects by, and Klutch's marks. */
export const keptKeyPatterns: readonly string[] = [
  "kubernetes.io/*",
  "*.kubernetes.io/*",
  "k8s.io/*",
  "*.k8s.io/*",
  "klutch.anynines.com/*",
  "*.klutch.anynines.com/*",
  ...ownershipMarks,
];
