/**
 * Label and annotation keys that cross, or do not. In patterns `*` stands for any characters. The agent filters by them, and the admission
 * policies of both clusters refuse the rest.
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

/**
 * Beginnings of labels and annotations on Secrets and ConfigMaps by which tools of a control plane act. Those that only say where an object comes
 * from, such as `helm.sh/chart`, are not among them: agents in Go copy them.
 */
export const actingKeys: readonly string[] = [
  "argocd.argoproj.io/secret-type",
  "cert-manager.io/allow-direct-injection",
  "grafana_",
  "jenkins.io/",
  "k8s-sidecar-",
  "kubed.appscode.com/",
  "kubernetes.io/service-account.",
  "reflector.v1.k8s.emberstack.com/",
  "replicator.v1.mittwald.de/",
  "sealedsecrets.bitnami.com/sealed-secrets-key",
];

/** Returns true if tools of a control plane act on labels and annotations with this key: it refuses an app cluster that sets or removes one. */
export function isActingKey(key: string): boolean {
  const isCrossplanes = key.startsWith("crossplane.io/") || key.includes(".crossplane.io/");
  return isCrossplanes || actingKeys.some((beginning) => key.startsWith(beginning));
}
