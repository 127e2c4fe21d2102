/** Decides which labels and annotations are propagated to the provider, and which come back. */
import { type KeyMatcher, keyMatcher, matchesAny } from "./key-patterns.ts";

/** A key is propagated when it is allowed and not denied. */
export interface MetadataRule {
  readonly allow: KeyMatcher;
  readonly deny: KeyMatcher;
}

/**
 * By what tools that apply and prune know which objects are theirs, and what steers them. A copy that bears it in another cluster is taken for
 * one that is no longer wanted, and deleted. `app.kubernetes.io/instance` is Argo CD's label unless it is told another, and
 * `app.kubernetes.io/managed-by` is Helm's; both are never propagated to the provider.
 */
const ownershipMarks: readonly string[] = [
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
 * Everything except Klutch's own keys, keys that steer the control plane's machinery (a tenant's `crossplane.io/external-name` could
 * take over another tenant's service) and what would make a GitOps tool or Helm of the control plane believe that it owns the copy.
 */
export const defaultMetadataRule: MetadataRule = {
  allow: keyMatcher(["*"]),
  deny: keyMatcher([
    "klutch.anynines.com/*",
    "*.klutch.anynines.com/*",
    "crossplane.io/*",
    "*.crossplane.io/*",
    "kubectl.kubernetes.io/*",
    "kubernetes.io/*",
    ...ownershipMarks,
  ]),
};

/**
 * What the app cluster takes with the provider's objects unless a permission claim names patterns of its own: keys without a domain, and those by
 * which people and tools recognise an application. Keys of other domains steer controllers, and which ones run here the provider must
 * not use unasked.
 */
const isKnownSafe = keyMatcher([
  "app.kubernetes.io/name",
  "app.kubernetes.io/version",
  "app.kubernetes.io/component",
  "app.kubernetes.io/part-of",
  "klutch.io/*",
]);

/** Never reaches the app cluster, whatever a permission claim says: Kubernetes' own, what GitOps tools and Helm know their objects by, and Klutch's marks. */
const isKeptOnProvider = keyMatcher([
  "kubernetes.io/*",
  "*.kubernetes.io/*",
  "k8s.io/*",
  "*.k8s.io/*",
  "klutch.anynines.com/*",
  "*.klutch.anynines.com/*",
  ...ownershipMarks,
]);

/** Returns true if the label or annotation of a provider's object may reach the app cluster; `patterns` come from the accepted permission claim. */
export function mayReachConsumer(key: string, patterns?: readonly string[]): boolean {
  const isSafe = isKnownSafe(key);
  if (!isSafe && isKeptOnProvider(key)) return false;
  return patterns === undefined ? isSafe || !key.includes("/") : matchesAny(key, patterns);
}

/** The labels or annotations that may come back to a consumer who wrote them himself: all but those that are kept on the provider. */
export function entriesBackToConsumer(
  entries: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(entries ?? {}).filter(([key]) => isKnownSafe(key) || !isKeptOnProvider(key)),
  );
}

/** The labels or annotations of a provider's object that may reach the app cluster without a permission claim that names them. */
export function entriesForConsumer(
  entries: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => mayReachConsumer(key)));
}

/** The entries that the rule lets through; undefined when none is left. */
export function filterMetadata(
  entries: Readonly<Record<string, string>> | undefined,
  rule: MetadataRule,
): Readonly<Record<string, string>> | undefined {
  if (entries === undefined) return undefined;
  const kept = Object.entries(entries).filter(([key]) => isPropagated(key, rule));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Returns true if a label or annotation with this key is propagated. */
export function isPropagated(key: string, rule: MetadataRule): boolean {
  return rule.allow(key) && !rule.deny(key);
}
