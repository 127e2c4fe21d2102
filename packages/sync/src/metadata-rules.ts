/** Decides which labels and annotations are propagated to the provider, and which come back. */
import { keptKeyPatterns, ownershipMarks, safeKeyPatterns } from "@klutch/api";
import { type KeyMatcher, keyMatcher, matchesAny } from "./key-patterns.ts";

/** A key is propagated when it is allowed and not denied. */
export interface MetadataRule {
  readonly allow: KeyMatcher;
  readonly deny: KeyMatcher;
}

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

const isKnownSafe = keyMatcher(safeKeyPatterns);
const isKeptOnProvider = keyMatcher(keptKeyPatterns);

/** Returns true if the label or annotation of a provider's object may reach the app cluster; `patterns` come from the accepted permission claim. */
export function mayReachConsumer(key: string, patterns?: readonly string[]): boolean {
  const isSafe = isKnownSafe(key);
  if (!isSafe && isKeptOnProvider(key)) return false;
  return patterns === undefined ? isSafe : matchesAny(key, patterns);
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
