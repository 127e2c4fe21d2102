/**
 * Judges a provider's permission claim. Three verdicts: `refused` (no one can accept it), `grave` (a person must accept
 * it by hand, no flag does), `plain` (what a service needs to hand over credentials).
 *
 * | claim | verdict |
 * |---|---|
 * | wildcards, subresources, names that are no DNS names | refused |
 * | core kinds other than those below; other groups than the API's own, so those of Kubernetes and Klutch too | refused |
 * | namespaces of Kubernetes or Klutch by name | refused |
 * | `secrets` that the provider owns; `configmaps` of one owner | plain |
 * | `secrets` of the app cluster, and `configmaps` of either side, by at most ten exact names in exact namespaces | plain |
 * | others of these; anything that takes over or replaces existing objects | grave |
 * | labels and annotations that the provider sets, by patterns for other keys than `safeKeyPatterns` | grave |
 * | `services`, `persistentvolumeclaims`; kinds of the API's own group | grave |
 */
import { isDnsLabel, printable } from "@klutch/kube-core";
import { shortList } from "./claim-words.ts";
import { safeKeyPatterns } from "./crossing-keys.ts";
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

/** Returns all that may happen to a person who accepts, in sentences' ends; undefined when there is nothing. */
function dangerOf(claim: PermissionClaim): string | undefined {
  const { resource, create, autoAdopt } = claim;
  const dangers = [
    ...(autoAdopt === true ? [`the provider takes over ${resource} that exist in your cluster`] : []),
    ...(create?.replaceExisting === true
      ? [`the provider replaces ${resource} that exist in your cluster`]
      : []),
    ...rightDangers(claim),
    ...keyDangers(claim),
  ];
  return dangers.length === 0 ? undefined : dangers.join("; and ");
}

function rightDangers(claim: PermissionClaim): readonly string[] {
  const { resource, selector } = claim;
  const all = `the konnector gets rights on all ${resource} of this cluster`;
  if ((claim.group ?? "") !== "") return [`${all}, no matter who created them`];
  if (!payload.includes(resource)) return [`${all}, which can reroute traffic or take up storage`];
  const isOneSided = resource === "configmaps" && selector?.owner !== undefined;
  if (selector?.owner === "Provider" || isOneSided || isNarrow(claim)) return [];
  const one = resource === "secrets" ? "Secret" : "ConfigMap";
  const exact = exactNames(selector?.names);
  if (exact === undefined)
    return [`every ${one} in a namespace that uses this API can leave your cluster, whatever it is for`];
  const guessed =
    exact.length > mostNames ? `, and ${exact.length} names can hold guesses at ${one}s of others` : "";
  return [
    `a ${one} with one of ${exact.length} names can leave your cluster from ${exactNames(selector?.namespaces) === undefined ? "each namespace that uses this API" : "the namespaces above"}, whatever it is for${guessed}`,
  ];
}

/** More exact names than this are as good as a pattern: one of them will fit. */
const mostNames = 10;

function isNarrow({ selector }: PermissionClaim): boolean {
  const [names, namespaces] = [exactNames(selector?.names), exactNames(selector?.namespaces)];
  return names !== undefined && namespaces !== undefined && names.length <= mostNames;
}

/** The names of a list that restricts to them; undefined when it holds anything else, or nothing. */
function exactNames(names: readonly string[] = []): readonly string[] | undefined {
  return names.length > 0 && names.every((name) => /^[-a-z0-9.]+$/.test(name)) ? names : undefined;
}

/** Keys of the API's own group are no exception: a provider calls its group what it likes, such as that of a controller here. */
function keyDangers({ update = {} }: PermissionClaim): readonly string[] {
  const { labels = [], annotations = [] } = update;
  const { labelsOnConsumerOwnedObjects = [], annotationsOnConsumerOwnedObjects = [] } = update;
  const asked = [labels, annotations, labelsOnConsumerOwnedObjects, annotationsOnConsumerOwnedObjects];
  const steering = asked.flat().filter(({ pattern }) => !isSafeKey(pattern));
  if (steering.length === 0) return [];
  const shown = shortList([...new Set(steering.map(({ pattern }) => printable(pattern, 80)))]).join(", ");
  return [`programs of your cluster may act on labels and annotations that the provider sets: ${shown}`];
}

function isSafeKey(pattern: string): boolean {
  return safeKeyPatterns.includes(pattern) || pattern.startsWith("klutch.io/");
}
