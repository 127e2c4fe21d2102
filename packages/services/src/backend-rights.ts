/** The rights by which the backend says on claims why Crossplane cannot compose them. */
import { type PolicyRule, textAt } from "@klutch/kube-core";
import type { CompositeResourceDefinition } from "./xrd.ts";

/** Returns the rules for the claims and composites of these definitions. Composites that are claims say everything themselves and need none. */
export function backendClaimRules(xrds: readonly CompositeResourceDefinition[]): readonly PolicyRule[] {
  const specs = xrds
    .map(({ spec }) => spec)
    .filter((spec) => textAt(spec, "claimNames", "plural") !== undefined);
  if (specs.length === 0) return [];
  const apiGroups = [...new Set(specs.map((spec) => textAt(spec, "group") ?? ""))];
  const claims = specs.map((spec) => textAt(spec, "claimNames", "plural") ?? "");
  const composites = specs.map((spec) => textAt(spec, "names", "plural") ?? "");
  return [
    { apiGroups, resources: [...claims, ...composites].toSorted(), verbs: ["get", "list", "watch"] },
    { apiGroups, resources: claims.map((plural) => `${plural}/status`).toSorted(), verbs: ["patch"] },
  ];
}
