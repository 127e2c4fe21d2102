/** Which labels and annotations travel up. */

/** Patterns with `*` for any characters; a key travels when one `allow` pattern and no `deny` pattern matches it. */
export interface MetadataRule {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/**
 * Everything except what is Klutch's own, what steers the control plane's machinery (a tenant's `crossplane.io/external-name` could
 * take over another tenant's service) and what would make a GitOps tool or Helm of the control plane believe that it owns the copy.
 */
export const defaultMetadataRule: MetadataRule = {
  allow: ["*"],
  deny: [
    "klutch.anynines.com/*",
    "*.klutch.anynines.com/*",
    "crossplane.io/*",
    "*.crossplane.io/*",
    "kubectl.kubernetes.io/*",
    "kubernetes.io/*",
    "meta.helm.sh/*",
    "helm.sh/*",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/instance",
    "argocd.argoproj.io/*",
    "*.toolkit.fluxcd.io/*",
  ],
};

/**
 * What comes down with the provider's objects unless a permission claim names patterns of its own: keys without a domain, and those by
 * which people and tools recognise an application. Keys of other domains steer controllers, and which ones run here the provider must
 * not use unasked.
 */
const safeDown: readonly string[] = [
  "app.kubernetes.io/name",
  "app.kubernetes.io/version",
  "app.kubernetes.io/component",
  "app.kubernetes.io/part-of",
  "klutch.io/*",
];

/** Never comes down, whatever a claim says: Kubernetes' own, what GitOps tools and Helm know their objects by, and Klutch's marks. */
const neverDown: readonly string[] = [
  "kubernetes.io/*",
  "*.kubernetes.io/*",
  "k8s.io/*",
  "*.k8s.io/*",
  "klutch.anynines.com/*",
  "*.klutch.anynines.com/*",
  "meta.helm.sh/*",
  "helm.sh/*",
  "argocd.argoproj.io/*",
  "*.toolkit.fluxcd.io/*",
];

/** Whether the label or annotation of a provider's object may come down; `patterns` are those of the accepted permission claim. */
export function mayComeDown(key: string, patterns?: readonly string[]): boolean {
  const isSafe = isKnownSafe(key);
  if (!isSafe && isKeptAbove(key)) return false;
  return patterns === undefined
    ? isSafe || !key.includes("/")
    : patterns.some((pattern) => matchesPattern(key, pattern));
}

const isKnownSafe = (key: string): boolean => safeDown.some((pattern) => matchesPattern(key, pattern));
const isKeptAbove = (key: string): boolean => neverDown.some((pattern) => matchesPattern(key, pattern));

/** The labels or annotations that may come back to a consumer who wrote them himself: all but those that nothing brings down. */
export function entriesBack(
  entries: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(entries ?? {}).filter(([key]) => isKnownSafe(key) || !isKeptAbove(key)),
  );
}

/** The labels or annotations of a provider's object that may come down without a claim that names them. */
export function entriesDown(
  entries: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => mayComeDown(key)));
}

/** The entries that the rule lets through; undefined when none is left. */
export function filterMetadata(
  entries: Readonly<Record<string, string>> | undefined,
  rule: MetadataRule,
): Readonly<Record<string, string>> | undefined {
  if (entries === undefined) return undefined;
  const kept = Object.entries(entries).filter(([key]) => travels(key, rule));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Whether a label or annotation with this key travels. */
export function travels(key: string, rule: MetadataRule): boolean {
  return (
    rule.allow.some((pattern) => matchesPattern(key, pattern)) &&
    !rule.deny.some((pattern) => matchesPattern(key, pattern))
  );
}

/** Whether `text` matches `pattern`, in which `*` stands for any characters. Linear in the length of the text. */
export function matchesPattern(text: string, pattern: string): boolean {
  const { first, inner, last } = partsOf(pattern);
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let position = first.length;
  for (const part of inner) {
    const found = text.indexOf(part, position);
    if (found < 0) return false;
    position = found + part.length;
  }
  return text.length - last.length >= position && text.endsWith(last);
}

/** What stands before, between and after the `*` of a pattern. `last` is undefined when it has none. */
interface PatternParts {
  readonly first: string;
  readonly inner: readonly string[];
  readonly last: string | undefined;
}

/** Patterns are few, and each is compared with keys of every object. */
const knownParts = new Map<string, PatternParts>();

function partsOf(pattern: string): PatternParts {
  const known = knownParts.get(pattern);
  if (known !== undefined) return known;
  const [first = "", ...inner] = pattern.split("*");
  const parts = { first, last: inner.pop(), inner };
  knownParts.set(pattern, parts);
  return parts;
}
