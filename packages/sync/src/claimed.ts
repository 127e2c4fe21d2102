/**
 * Claimed resources (Secrets, ConfigMaps, any kind) by owner. The claim that the person accepted decides who may own; an annotation can
 * only narrow that. With an owner `Provider` and without `autoAdopt` there is no path by which a consumer's object reaches the
 * provider.
 *
 * | claim owner  | object's owner |
 * |--------------|----------------|
 * | Provider     | Provider, or no one |
 * | Consumer     | Consumer, or no one |
 * | (both)       | what the marks say; else the only side that has it; two unmarked objects are a conflict |
 * | `autoAdopt`  | an unmarked object that only the consumer has goes to the provider and is the provider's from then on |
 * | `autoDonate` | an unmarked object that only the provider has goes to the consumer and is the consumer's from then on |
 */
import { claimedFromLabel, deliveredAnnotation, resourceOwnerAnnotation } from "@klutch/api";
import { type DynamicObject, isDeleting, jsonEqual, type ObjectRef, refOfObject } from "@klutch/kube-core";
import { copyContent, needsRecreation, sameCopy, sourcePatch } from "./claimed-content.ts";
import { type CompiledPermissionClaim, isSelected } from "./compiled-permission-claim.ts";
import type { Tenant } from "./namespaces.ts";
import { belongsToItsCluster, refusedSecretType } from "./secret-types.ts";
import { harmlessStatus } from "./status-conditions.ts";

/** Both sides of one claimed object. */
export interface ObservedClaimed {
  readonly permissionClaim: CompiledPermissionClaim;
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
  readonly consumerRef: ObjectRef;
  readonly providerRef: ObjectRef;
  readonly tenant: Tenant;
  /** `secrets`, `configmaps`, `<plural>.<group>`. What the objects say of their kind counts nowhere. */
  readonly resource: string;
  /** True if claimed objects cross in this namespace (mapping-rules.ts); else only copies whose source is gone are removed. Default true. */
  readonly isOpen?: boolean | undefined;
  /** The consumer's object is the agent's own, such as the Secret with a provider's kubeconfig. Default false. */
  readonly isPrivate?: boolean | undefined;
  /** True if the resource has a status subresource. Default false: a status is not copied. */
  readonly statusSubresource?: boolean | undefined;
}

/** The side on which something is written. */
export type Side = "consumer" | "provider";

/** One write. A copy is written whole: only Klutch changes it. */
export type ClaimedStep =
  /** Fails with AlreadyExists when an object is there that the cache does not show; then read live and decide again. */
  | { readonly do: "create"; readonly on: Side; readonly content: DynamicObject }
  /** `recreate`: the object must be deleted and created again. */
  | { readonly do: "replace"; readonly on: Side; readonly content: DynamicObject; readonly recreate: boolean }
  /** A merge patch of what the copy's side may change in the source. */
  | {
      readonly do: "patch";
      readonly on: Side;
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly patch: Readonly<Record<string, unknown>>;
    }
  | {
      readonly do: "writeStatus";
      readonly on: Side;
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly status: unknown;
    }
  /** `unlessFound` is read live on the other side first: a cache proves no absence. */
  | {
      readonly do: "delete";
      readonly on: Side;
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly unlessFound: ObjectRef | undefined;
    };

/** The decision: at most one write, or why nothing may be written. */
export interface ClaimedPlan {
  readonly step?: ClaimedStep | undefined;
  /** Both sides have an object of this name and neither is a copy; they are left alone. */
  readonly conflict?: boolean | undefined;
  /** The source is a Secret of this type, which may not cross; a copy that an earlier agent made stays as it is. */
  readonly refusedType?: string | undefined;
}

type Owner = "Provider" | "Consumer";

const none: ClaimedPlan = {};

/** Decides for one claimed object. */
export function planClaimed(observed: ObservedClaimed): ClaimedPlan {
  const { consumer, provider } = observed;
  const decision = ownerOf(observed);
  switch (decision) {
    case undefined:
      return none;
    case "conflict":
      return observed.isOpen === false ? none : { conflict: true };
    case "adopt":
      return planCopy(observed, "provider", "Provider", consumer, provider);
    case "donate":
      return planCopy(observed, "consumer", "Consumer", provider, consumer);
    case "Provider":
      return planCopy(observed, "consumer", "Provider", provider, consumer);
    case "Consumer":
      return planCopy(observed, "provider", "Consumer", consumer, provider);
    default:
      return decision satisfies never;
  }
}

function markOf(object: DynamicObject | undefined): Owner | undefined {
  const mark = object?.metadata.annotations?.[resourceOwnerAnnotation];
  return mark === "Provider" || mark === "Consumer" ? mark : undefined;
}

/** Reports whether `candidate` may own objects under this permission claim. */
function mayOwn({ owner, autoAdopt, autoDonate }: CompiledPermissionClaim, candidate: Owner): boolean {
  if (owner === undefined || owner === candidate) return true;
  return candidate === "Provider" ? autoAdopt : autoDonate;
}

function ownerOf({
  permissionClaim,
  consumer,
  provider,
}: ObservedClaimed): Owner | "adopt" | "donate" | "conflict" | undefined {
  const marked = markOf(provider) ?? markOf(consumer);
  if (marked !== undefined) {
    if (!mayOwn(permissionClaim, marked)) return undefined;
    // The other side's unmarked object is its own, unless the permission claim says that it may be taken.
    const other = marked === "Provider" ? consumer : provider;
    const mayTake =
      permissionClaim.replaceExisting ||
      (marked === "Provider" ? permissionClaim.autoAdopt : permissionClaim.autoDonate);
    if (other !== undefined && markOf(other) === undefined && !mayTake) return "conflict";
    // A mark that the consumer gave itself must not make its object reach the provider under a permission claim of the provider's.
    const contradicts = markOf(other) !== undefined && markOf(other) !== marked;
    return contradicts && !mayTake ? undefined : marked;
  }
  if (consumer !== undefined && provider !== undefined) {
    return permissionClaim.replaceExisting && mayOwn(permissionClaim, "Provider") ? "Provider" : "conflict";
  }
  if (provider !== undefined) {
    if (permissionClaim.autoDonate) return "donate";
    return mayOwn(permissionClaim, "Provider") ? "Provider" : undefined;
  }
  if (consumer === undefined) return undefined;
  if (permissionClaim.autoAdopt) return "adopt";
  return mayOwn(permissionClaim, "Consumer") ? "Consumer" : undefined;
}

function planCopy(
  observed: ObservedClaimed,
  on: Side,
  mark: Owner,
  source: DynamicObject | undefined,
  copy: DynamicObject | undefined,
): ClaimedPlan {
  const { permissionClaim, consumerRef, resource } = observed;
  const isCovered =
    source !== undefined &&
    !isDeleting(source) &&
    observed.isPrivate !== true &&
    !belongsToItsCluster(resource, source) &&
    isSelected(permissionClaim, consumerRef, source);
  if (!isCovered) return planRemoval(observed, on, source, copy);
  if (observed.isOpen === false) return none;
  const refusedType = refusedSecretType(resource, source, permissionClaim);
  if (refusedType !== undefined) return { refusedType };
  const keepsAway = on === "consumer" && !permissionClaim.recreateWhenConsumerSideDeleted;
  if (copy === undefined) {
    if (keepsAway && source.metadata.annotations?.[deliveredAnnotation] === "true") return none;
    return { step: { do: "create", on, content: copyContent(observed, on, mark, source, copy) } };
  }
  if (isDeleting(copy)) return none;
  // Another provider was first with a copy of this name in this namespace; two would overwrite each other for ever.
  const from = copy.metadata.labels?.[claimedFromLabel];
  if (markOf(copy) === mark && from !== undefined && from !== observed.tenant.namespaceUid)
    return { conflict: true };
  const content = copyContent(observed, on, mark, source, copy);
  if (!sameCopy(copy, content)) {
    const { uid, resourceVersion } = copy.metadata;
    const recreate = permissionClaim.alwaysRecreate || needsRecreation(resource, copy, content);
    const metadata = { ...content.metadata, uid, resourceVersion };
    return { step: { do: "replace", on, content: { ...content, metadata }, recreate } };
  }
  return planSource(observed, on, source, copy, keepsAway);
}

/** The copy is as it should be; what it may give back to the source, and the status. */
function planSource(
  observed: ObservedClaimed,
  on: Side,
  source: DynamicObject,
  copy: DynamicObject,
  keepsAway: boolean,
): ClaimedPlan {
  const back: Side = on === "consumer" ? "provider" : "consumer";
  const patch = sourcePatch(observed.permissionClaim, on, source, copy, keepsAway);
  if (patch !== undefined) {
    const uid = source.metadata.uid ?? "";
    return { step: { do: "patch", on: back, ref: refOfObject(source), uid, patch } };
  }
  if (observed.statusSubresource !== true || source.status === undefined) return none;
  const status = on === "consumer" ? harmlessStatus(source.status) : source.status;
  if (jsonEqual(status, copy.status)) return none;
  const uid = copy.metadata.uid ?? "";
  return { step: { do: "writeStatus", on, ref: refOfObject(copy), uid, status } };
}

function planRemoval(
  { providerRef, consumerRef, tenant }: ObservedClaimed,
  on: Side,
  source: DynamicObject | undefined,
  copy: DynamicObject | undefined,
): ClaimedPlan {
  const mark = on === "consumer" ? "Provider" : "Consumer";
  if (copy === undefined || isDeleting(copy) || markOf(copy) !== mark) return none;
  const from = copy.metadata.labels?.[claimedFromLabel];
  if (from !== undefined && from !== tenant.namespaceUid) return none;
  const unlessFound = source !== undefined ? undefined : on === "consumer" ? providerRef : consumerRef;
  const ref = refOfObject(copy);
  return { step: { do: "delete", on, ref, uid: copy.metadata.uid ?? "", unlessFound } };
}
