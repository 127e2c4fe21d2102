/**
 * Judges a provider's permission claim. Three verdicts: `refused` (no one can accept it), `grave` (a person must accept
 * it by hand, no flag does), `plain` (what a service needs to hand over credentials).
 *
 * | claim | verdict |
 * |---|---|
 * | wildcards, subresources, names that are no DNS names | refused |
 * | core kinds other than those below; other groups than the API's own, so those of Kubernetes and Klutch too | refused |
 * | namespaces of Kubernetes or Klutch by name | refused |
 * | `secrets` that the provider owns; `configmaps` | plain |
 * | `secrets` of the app cluster by exact names | plain |
 * | other `secrets` of the app cluster; anything that takes over or replaces existing objects | grave |
 * | `services`, `persistentvolumeclaims`; kinds of the API's own group | grave |
 */
import { isDnsLabel } from "@klutch/kube-core";
import type { PermissionClaim } from "./kinds/permission-claim.ts";
import { consumerNamespace } from "./names.ts";

/** Verdict about a claim. `reason` says why no one can accept it, or what may happen to a person who does. */
export type ClaimVerdict =
  | { readonly kind: "plain" }
  | { readonly kind: "grave"; readonly reason: string }
  | { readonly kind: "refused"; readonly reason: string };

/** Judges one claim of the API of this group. */
export function judgeClaim(claim: PermissionClaim, api: { readonly group: string }): ClaimVerdict {
  const reason = refusalOf(claim, api.group);
  if (reason !== undefined) return { kind: "refused", reason };
  const danger = dangerOf(claim);
  return danger === undefined ? { kind: "plain" } : { kind: "grave", reason: danger };
}

const plural = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const group = /^[-a-z0-9.]{0,253}$/;
const payload = ["secrets", "configmaps"];
const coreKinds = [...payload, "services", "persistentvolumeclaims"];

function refusalOf(claim: PermissionClaim, apiGroup: string): string | undefined {
  const claimed = claim.group ?? "";
  if (!plural.test(claim.resource) || !group.test(claimed) || !isDnsLabel(claim.version)) {
    return "it does not name one kind of object; wildcards and subresources cannot be claimed";
  }
  if (claimed === "") {
    return coreKinds.includes(claim.resource)
      ? namespaceRefusal(claim)
      : `with ${claim.resource} a provider could take over this cluster; of the built-in kinds only ${coreKinds.join(", ")} can be claimed`;
  }
  if (claimed !== apiGroup) {
    return `the group ${claimed} is not that of the API; only kinds of ${apiGroup} and ${coreKinds.join(", ")} can be claimed`;
  }
  return namespaceRefusal(claim);
}

function namespaceRefusal({ selector }: PermissionClaim): string | undefined {
  const isSystem = (name: string): boolean => name.startsWith("kube-") || name === consumerNamespace;
  const found = (selector?.namespaces ?? []).find(isSystem);
  return found === undefined ? undefined : "it names a namespace that belongs to Kubernetes or to Klutch";
}

function dangerOf(claim: PermissionClaim): string | undefined {
  const { resource, selector, create, autoAdopt } = claim;
  if (autoAdopt === true) return `the provider takes over ${resource} that exist in your cluster`;
  if (create?.replaceExisting === true) return `the provider replaces ${resource} that exist in your cluster`;
  if ((claim.group ?? "") !== "") {
    return `the konnector gets rights on all ${resource} of this cluster, no matter who created them`;
  }
  if (resource === "secrets" && selector?.owner !== "Provider" && !hasExactNames(claim)) {
    return "every Secret in a namespace that uses this API can leave your cluster, whatever it is for";
  }
  if (payload.includes(resource)) return undefined;
  return `the konnector gets rights on all ${resource} of this cluster, which can reroute traffic or take up storage`;
}

function hasExactNames({ selector }: PermissionClaim): boolean {
  const names = selector?.names ?? [];
  return names.length > 0 && names.every((name) => /^[-a-z0-9.]+$/.test(name));
}
