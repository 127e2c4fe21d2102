/**
 * Claimed resources (Secrets, ConfigMaps, any kind) by owner. The claim that the person accepted decides who may own; an annotation can
 * only narrow that. With an owner `Provider` there is no path by which a consumer's object reaches the provider (S1).
 *
 * | claim owner | object's owner |
 * |-------------|----------------|
 * | Provider    | Provider, or nobody |
 * | Consumer    | Consumer, or nobody |
 * | (both)      | what the source's annotation says; else the only side that has it; two unmarked objects are a conflict |
 */
import { claimedFromLabel, resourceOwnerAnnotation } from "@klutch/api";
import { contains } from "./json.ts";
import { isDeleting, isRecord, type Ref, refOfObject, type SyncObject } from "./types.ts";

/** Who may own, and which objects an accepted claim covers; `*` for any. Names and namespaces are the consumer's. */
export interface ClaimScope {
  readonly owner: "Provider" | "Consumer" | undefined;
  readonly names: readonly string[];
  readonly namespaces: readonly string[];
  /** One of these maps must be contained in the labels; no restriction when empty. */
  readonly labelSelectors: readonly Readonly<Record<string, string>>[];
}

/** Both sides of one claimed object. */
export interface ObservedClaimed {
  readonly scope: ClaimScope;
  readonly consumer: SyncObject | undefined;
  readonly provider: SyncObject | undefined;
  readonly consumerRef: Ref;
  readonly providerRef: Ref;
  /** UID of the tenant's cluster namespace. */
  readonly tenantUid: string;
}

/** The side on which a claimed object is written. */
export type Side = "consumer" | "provider";

/** One write. A copy is written whole: nobody but Klutch changes it. */
export type ClaimedStep =
  /** Fails with AlreadyExists when an object is there that the cache does not show; then look live and decide again. */
  | { readonly do: "create"; readonly on: Side; readonly content: SyncObject }
  | { readonly do: "replace"; readonly on: Side; readonly content: SyncObject }
  /** `unlessFound` is looked up live on the other side first: a cache proves no absence. */
  | {
      readonly do: "delete";
      readonly on: Side;
      readonly ref: Ref;
      readonly uid: string;
      readonly unlessFound: Ref | undefined;
    };

/** The decision: at most one write, or why nothing may be written. */
export interface ClaimedPlan {
  readonly step?: ClaimedStep | undefined;
  /** Both sides have an object of this name and neither is a copy; they are left alone. */
  readonly conflict?: boolean | undefined;
}

const none: ClaimedPlan = {};

/** Decides for one claimed object. */
export function planClaimed(observed: ObservedClaimed): ClaimedPlan {
  const owner = ownerOf(observed);
  if (owner === undefined) return none;
  if (owner === "conflict") return { conflict: true };
  return owner === "Provider"
    ? planCopy(observed, "consumer", observed.provider, observed.consumer)
    : planCopy(observed, "provider", observed.consumer, observed.provider);
}

/** Whether a claim covers the object of this consumer reference and these labels. */
export function isSelected(scope: ClaimScope, ref: Ref, labels: SyncObject["metadata"]["labels"]): boolean {
  const listed = (list: readonly string[], value: string): boolean =>
    list.length === 0 || list.includes("*") || list.includes(value);
  return (
    listed(scope.names, ref.name) &&
    listed(scope.namespaces, ref.namespace ?? "*") &&
    (scope.labelSelectors.length === 0 ||
      scope.labelSelectors.some((wanted) => contains(labels ?? {}, wanted)))
  );
}

/** Objects that every cluster makes for itself; they never cross, whatever a claim says. */
export function belongsToItsCluster(object: SyncObject): boolean {
  if (object.kind === "ConfigMap") return object.metadata.name === "kube-root-ca.crt";
  const type = object["type"];
  return object.kind === "Secret" && typeof type === "string" && clusterSecretTypes.has(type);
}

const clusterSecretTypes: ReadonlySet<string> = new Set([
  "kubernetes.io/service-account-token",
  "bootstrap.kubernetes.io/token",
]);

function markOf(object: SyncObject | undefined): "Provider" | "Consumer" | undefined {
  const mark = object?.metadata.annotations?.[resourceOwnerAnnotation];
  return mark === "Provider" || mark === "Consumer" ? mark : undefined;
}

function ownerOf(observed: ObservedClaimed): "Provider" | "Consumer" | "conflict" | undefined {
  const { scope, consumer, provider } = observed;
  const onProvider = markOf(provider);
  const onConsumer = markOf(consumer);
  if (scope.owner === "Provider") {
    // A copy that went up under another claim, and an object of the consumer's own, are both left alone.
    if (onProvider === "Consumer" || onConsumer === "Consumer") return undefined;
    if (consumer !== undefined && onConsumer === undefined) {
      return provider === undefined ? undefined : "conflict";
    }
    return "Provider";
  }
  if (scope.owner === "Consumer") {
    if (onProvider === "Provider" || onConsumer === "Provider") return undefined;
    if (provider !== undefined && onProvider === undefined) {
      return consumer === undefined ? undefined : "conflict";
    }
    return "Consumer";
  }
  const marked = onProvider ?? onConsumer;
  if (marked !== undefined) return marked;
  if (consumer === undefined) return provider === undefined ? undefined : "Provider";
  return provider === undefined ? "Consumer" : "conflict";
}

function planCopy(
  observed: ObservedClaimed,
  on: Side,
  source: SyncObject | undefined,
  copy: SyncObject | undefined,
): ClaimedPlan {
  const { scope, consumerRef, providerRef } = observed;
  const [sourceRef, copyRef] = on === "consumer" ? [providerRef, consumerRef] : [consumerRef, providerRef];
  const covered =
    source !== undefined &&
    !isDeleting(source) &&
    !belongsToItsCluster(source) &&
    isSelected(scope, consumerRef, source.metadata.labels);
  if (!covered) return planRemoval(observed, on, source, copy, sourceRef);
  const content = copyContent(source, copyRef, on, observed.tenantUid);
  if (copy === undefined) return { step: { do: "create", on, content } };
  if (isDeleting(copy)) return none;
  if (sameCopy(copy, content)) return none;
  const { uid, resourceVersion } = copy.metadata;
  return {
    step: {
      do: "replace",
      on,
      content: { ...content, metadata: { ...content.metadata, uid, resourceVersion } },
    },
  };
}

function planRemoval(
  observed: ObservedClaimed,
  on: Side,
  source: SyncObject | undefined,
  copy: SyncObject | undefined,
  sourceRef: Ref,
): ClaimedPlan {
  const mark = on === "consumer" ? "Provider" : "Consumer";
  if (copy === undefined || isDeleting(copy) || markOf(copy) !== mark) return none;
  const from = copy.metadata.labels?.[claimedFromLabel];
  if (from !== undefined && from !== observed.tenantUid) return none;
  const unlessFound = source === undefined ? sourceRef : undefined;
  const ref = refOfObject(copy);
  return { step: { do: "delete", on, ref, uid: copy.metadata.uid ?? "", unlessFound } };
}

/** The copy without what a server sets, owner references and finalizers. */
function copyContent(source: SyncObject, ref: Ref, on: Side, tenantUid: string): SyncObject {
  const { metadata, status: _status, ...fields } = source;
  const mark = on === "consumer" ? "Provider" : "Consumer";
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([key]) => !key.startsWith("kubectl.kubernetes.io/")),
  );
  return {
    ...fields,
    metadata: {
      ...ref,
      labels: { ...metadata.labels, [claimedFromLabel]: tenantUid },
      annotations: { ...annotations, [resourceOwnerAnnotation]: mark },
    },
  };
}

function sameCopy(copy: SyncObject, content: SyncObject): boolean {
  const keys = new Set([...Object.keys(copy), ...Object.keys(content)]);
  for (const key of keys) {
    if (key === "metadata" || key === "status") continue;
    // Payloads are atomic: a key that was removed at the source must go, so containment is asked both ways.
    if (
      !contains(copy[key], content[key]) ||
      (isPayload(key) && !contains(content[key] ?? {}, copy[key] ?? {}))
    ) {
      return false;
    }
  }
  return (
    contains(copy.metadata.labels ?? {}, content.metadata.labels) &&
    contains(copy.metadata.annotations ?? {}, content.metadata.annotations)
  );
}

const isPayload = (key: string): boolean => key === "data" || key === "binaryData" || key === "stringData";

/** Whether a replace is impossible because an immutable field differs; then the copy must be deleted and made anew. */
export function needsRecreation(copy: SyncObject, content: SyncObject): boolean {
  if (copy.kind !== "Secret" && copy.kind !== "ConfigMap") return false;
  if (copy["immutable"] === true) return true;
  return isRecord(copy["data"]) && content["type"] !== undefined && copy["type"] !== content["type"];
}
