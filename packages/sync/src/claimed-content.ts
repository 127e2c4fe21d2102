/** Content of a copy of a claimed object, and the part of it that goes back to its source. */
import {
  claimedFromLabel,
  clusterNamespaceAnnotation,
  deliveredAnnotation,
  isActingKey,
  resourceOwnerAnnotation,
  sourceHashAnnotation,
} from "@klutch/api";
import {
  contains,
  type DynamicObject,
  isRecord,
  jsonEqual,
  jsonHash,
  type ObjectRef,
  valueAt,
} from "@klutch/kube-core";
import type { CompiledPermissionClaim, MetadataPropagation } from "./compiled-permission-claim.ts";
import { type KeyPath, withValueAt } from "./field-path.ts";
import { matchesAny } from "./key-patterns.ts";
import { mayReachConsumer } from "./metadata-rules.ts";
import type { Tenant } from "./namespaces.ts";

type Side = "consumer" | "provider";
type Entries = Readonly<Record<string, string>>;
/** An object without metadata and status. */
interface Fields {
  readonly apiVersion: string;
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** Input of a copy's content. */
interface CopyContext {
  readonly permissionClaim: CompiledPermissionClaim;
  readonly consumerRef: ObjectRef;
  readonly providerRef: ObjectRef;
  readonly tenant: Tenant;
  /** `secrets`, `configmaps`, `<plural>.<group>`. */
  readonly resource: string;
}

/** The copy without what a server sets, owner references and finalizers. `copy` is the existing one. */
export function copyContent(
  { permissionClaim, consumerRef, providerRef, tenant, resource }: CopyContext,
  on: Side,
  mark: "Provider" | "Consumer",
  source: DynamicObject,
  copy: DynamicObject | undefined,
): DynamicObject {
  const { metadata, status: _status, ...sourceFields } = source;
  const ref = on === "consumer" ? consumerRef : providerRef;
  const fields = mergedFields(permissionClaim, on, sourceFields, copy);
  const isMarkedCluster = on === "provider" && ref.namespace === undefined;
  return {
    ...fields,
    metadata: {
      ...ref,
      labels: {
        ...propagated(metadata.labels, copy?.metadata.labels, permissionClaim.labels, on),
        [claimedFromLabel]: tenant.namespaceUid,
      },
      annotations: {
        ...propagated(metadata.annotations, copy?.metadata.annotations, permissionClaim.annotations, on),
        [resourceOwnerAnnotation]: mark,
        ...(isPayloadOnly(resource) ? {} : { [sourceHashAnnotation]: jsonHash(sourceFields) }),
        ...(isMarkedCluster ? { [clusterNamespaceAnnotation]: tenant.namespace } : {}),
      },
    },
  };
}

/** The source's fields, except those that the copy keeps. */
function mergedFields(
  permissionClaim: CompiledPermissionClaim,
  on: Side,
  source: Fields,
  copy: DynamicObject | undefined,
): Fields {
  if (copy === undefined) return source;
  const { metadata: _metadata, status: _status, ...present } = copy;
  const isProviderOwned = on === "consumer";
  if (isProviderOwned) {
    const base =
      permissionClaim.fields.length === 0 ? source : withFieldsOf(present, permissionClaim.fields, source);
    const kept = permissionClaim.preserving.filter((path) => valueAt(present, ...path) !== undefined);
    return withFieldsOf(base, kept, present);
  }
  // What the provider may change keeps the provider's value, once it has one.
  const kept = permissionClaim.fields.filter(
    (path) =>
      valueAt(present, ...path) !== undefined &&
      !permissionClaim.preserving.some((one) => jsonEqual(one, path)),
  );
  return withFieldsOf(source, kept, present);
}

function withFieldsOf<T extends Readonly<Record<string, unknown>>>(
  object: T,
  paths: readonly KeyPath[],
  from: Readonly<Record<string, unknown>>,
): T {
  return paths.reduce((result, path) => withValueAt(result, path, valueAt(from, ...path)), object);
}

/** Labels or annotations of the copy: those propagated from the source, then those that the copy's side may set. */
function propagated(
  source: Entries | undefined,
  copy: Entries | undefined,
  propagation: MetadataPropagation,
  on: Side,
): Entries {
  const patterns = on === "consumer" ? propagation.toConsumer : propagation.toProvider;
  const own = on === "consumer" ? propagation.copyToProvider : propagation.copyToConsumer;
  const isPropagated = (key: string, value: string): boolean =>
    on === "consumer"
      ? mayReachConsumer(key, patterns)
      : mayReachProvider(key, value) && (patterns === undefined || matchesAny(key, patterns));
  // The control plane refuses also to remove what acts there, which an earlier agent brought.
  const isKept = (key: string): boolean => on === "provider" && isActingKey(key);
  return {
    ...filter(source, isPropagated),
    ...filter(copy, (key) => isKept(key) || (!isBookkeeping(key) && matchesAny(key, own))),
  };
}

/** Never propagated: Klutch's own marks and what kubectl writes about its last apply. */
function isBookkeeping(key: string): boolean {
  return key.startsWith("kubectl.kubernetes.io/") || key.startsWith("klutch.anynines.com/");
}

/** Returns false for what never is propagated, and what the control plane would refuse together with the whole object. */
function mayReachProvider(key: string, value: string): boolean {
  const isHelms = key === "owner" && value === "helm";
  return !isBookkeeping(key) && !isActingKey(key) && !isHelms;
}

function filter(entries: Entries | undefined, keep: (key: string, value: string) => boolean): Entries {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key, value]) => keep(key, value)));
}

/** A merge patch that brings to the source what the copy's side may change in it; undefined when there is nothing. */
export function sourcePatch(
  permissionClaim: CompiledPermissionClaim,
  on: Side,
  source: DynamicObject,
  copy: DynamicObject,
  markDelivered: boolean,
): Readonly<Record<string, unknown>> | undefined {
  const goesBack = (
    key: string,
    value: string,
    { copyToProvider, copyToConsumer }: MetadataPropagation,
  ): boolean =>
    on === "consumer"
      ? mayReachProvider(key, value) && matchesAny(key, copyToProvider)
      : mayReachConsumer(key, copyToConsumer);
  const changed = (
    from: Entries | undefined,
    to: Entries | undefined,
    propagation: MetadataPropagation,
  ): Entries => filter(from, (key, value) => goesBack(key, value, propagation) && value !== to?.[key]);
  const labels = changed(copy.metadata.labels, source.metadata.labels, permissionClaim.labels);
  const delivered: Entries =
    markDelivered && source.metadata.annotations?.[deliveredAnnotation] !== "true"
      ? { [deliveredAnnotation]: "true" }
      : {};
  const annotations = {
    ...changed(copy.metadata.annotations, source.metadata.annotations, permissionClaim.annotations),
    ...delivered,
  };
  const metadata = {
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
  // Only the provider writes fields of the consumer's objects, and only those that the claim names.
  const paths = on === "provider" ? permissionClaim.fields : [];
  const fields = paths
    .filter((path) => !permissionClaim.preserving.some((kept) => jsonEqual(kept, path)))
    .filter(
      (path) =>
        valueAt(copy, ...path) !== undefined && !jsonEqual(valueAt(copy, ...path), valueAt(source, ...path)),
    )
    .reduce<Readonly<Record<string, unknown>>>(
      (patch, path) => withValueAt(patch, path, valueAt(copy, ...path)),
      {},
    );
  const patch = { ...fields, ...(Object.keys(metadata).length === 0 ? {} : { metadata }) };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Returns true if the copy already holds the content; additions by others do not count, except in the payload. */
export function sameCopy(copy: DynamicObject, content: DynamicObject): boolean {
  const keys = new Set([...Object.keys(copy), ...Object.keys(content)]);
  for (const key of keys) {
    // What the objects say of their kind does not count: both are of the resource that they were read from.
    if (key === "metadata" || key === "status" || key === "apiVersion" || key === "kind") continue;
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

/** Returns true if objects of the resource are only data. Takes the resource, because the other side chooses the `kind`. */
const isPayloadOnly = (resource: string): boolean => resource === "secrets" || resource === "configmaps";

/** Returns true if an immutable field differs; then the copy must be deleted and created again. */
export function needsRecreation(resource: string, copy: DynamicObject, content: DynamicObject): boolean {
  if (!isPayloadOnly(resource)) return false;
  if (copy["immutable"] === true) return true;
  return isRecord(copy["data"]) && content["type"] !== undefined && copy["type"] !== content["type"];
}
