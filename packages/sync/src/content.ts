/** Content of an object that goes to the provider, and whether it has to be sent. */
import { hash } from "node:crypto";
import {
  adoptedAnnotation,
  boundAnnotation,
  clusterNamespaceAnnotation,
  consumerNameAnnotation,
  specDigestAnnotation,
  specObservedCondition,
  traceAnnotation,
} from "@klutch/api";
import {
  canonicalJson,
  contains,
  type DynamicObject,
  jsonHash,
  namespaces,
  type ObjectMeta,
  type ObjectRef,
  ownerReference,
} from "@klutch/kube-core";
import { type FieldPath, holdsAll, ownedFields, surplusPaths } from "./fields.ts";
import { filterMetadata, type MetadataRule } from "./metadata-rules.ts";
import type { Isolation, Tenant } from "./namespaces.ts";
import { asConditions, conditionOf } from "./status-conditions.ts";

/** Returns true if the object carries `klutch.anynines.com/bound: "true"`; any other value does not count. */
export function isBound(object: { readonly metadata: ObjectMeta }): boolean {
  return object.metadata.annotations?.[boundAnnotation] === "true";
}

/**
 * What goes to the provider from a claim, wherever its upstream object stands: every top-level field except `status`, labels and annotations by rule,
 * the `bound` annotation. Without labels there is no member for them.
 */
export function travellingContent(consumer: DynamicObject, rule: MetadataRule): DynamicObject {
  const { metadata, status: _status, ...fields } = consumer;
  const labels = filterMetadata(metadata.labels, rule);
  const annotations = { ...filterMetadata(metadata.annotations, rule), [boundAnnotation]: "true" };
  return { ...fields, metadata: { ...(labels === undefined ? {} : { labels }), annotations } };
}

/**
 * The mark of what a claim's upstream object holds: 16 hexadecimal digits of the SHA-256 of all that travels but metadata, so that a changed
 * label does not change it. Neither does another version of the type.
 */
export function specMark(consumer: DynamicObject): string {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, status: _status, ...fields } = consumer;
  return hash("sha256", canonicalJson(fields), "hex").slice(0, 16);
}

/** The mark on an upstream object; undefined on one that was made by an older agent, and by another one. */
export function markOn({ metadata }: { readonly metadata: ObjectMeta }): string | undefined {
  return metadata.annotations?.[specDigestAnnotation];
}

/**
 * The body of the server-side apply that gives the provider's object the consumer's content: the propagated part, with its mark; for cluster-scoped objects
 * also the annotation and the owner that tie it to the tenant, and the claim's name where the object's does not say it, or `isNamed`. Holds nothing
 * that a server sets.
 */
export function providerContent(
  consumer: DynamicObject,
  target: ObjectRef,
  tenant: Tenant,
  rule: MetadataRule,
  isNamed = false,
): DynamicObject {
  const content = withMark(travellingContent(consumer, rule), specMark(consumer));
  if (target.namespace !== undefined) return { ...content, metadata: { ...target, ...content.metadata } };
  const { name = "" } = consumer.metadata;
  const isPlain = target.name === `${tenant.namespace}-${name}`;
  return {
    ...content,
    metadata: {
      ...target,
      ...content.metadata,
      annotations: {
        ...content.metadata.annotations,
        [clusterNamespaceAnnotation]: tenant.namespace,
        ...(isPlain && !isNamed ? {} : { [consumerNameAnnotation]: name }),
      },
      ownerReferences: [ownerReference(namespaces, { name: tenant.namespace, uid: tenant.namespaceUid })],
    },
  };
}

function withMark(content: DynamicObject, mark: string): DynamicObject {
  const annotations = { ...content.metadata.annotations, [specDigestAnnotation]: mark };
  return { ...content, metadata: { ...content.metadata, annotations } };
}

/** Returns true if a condition of an upstream object without a mark names the mark that it observed. */
export function lacksEchoedMark(observed: DynamicObject): boolean {
  return (
    markOn(observed) === undefined &&
    conditionOf(asConditions(observed.status), specObservedCondition) !== undefined
  );
}

/**
 * What of the content is a reason to write. A mark that is not there is none, so that the first agent that knows of marks writes nothing; but
 * it is where one is echoed, which then can be any.
 */
export function decidingContent(wanted: DynamicObject, observed: DynamicObject): DynamicObject {
  if (markOn(observed) !== undefined || lacksEchoedMark(observed)) return wanted;
  const { [specDigestAnnotation]: _mark, ...annotations } = wanted.metadata.annotations ?? {};
  return { ...wanted, metadata: { ...wanted.metadata, annotations } };
}

/**
 * Whether a cluster-scoped object is to name its claim even if its own name is the plain prefixed one. Existing objects without it stay
 * without under isolation Prefixed: it would be a write for each of them.
 */
export function isToBeNamed(isolation: Isolation | undefined, observed: DynamicObject | undefined): boolean {
  const isThere =
    observed !== undefined && observed.metadata.annotations?.[consumerNameAnnotation] === undefined;
  return isolation === "None" || !isThere;
}

/** Returns true if the object came from the provider, and no one in the app cluster has applied it. */
export function isAdopted(object: { readonly metadata: ObjectMeta }): boolean {
  return object.metadata.annotations?.[adoptedAnnotation] === "true";
}

/** Result of a write: a server may store something else than was sent (webhooks, pruning), and that is final until a side changes. */
export interface AppliedRecord {
  readonly wanted: string;
  readonly observed: string;
}

/** The record of a write of `wanted` after which the object was `observed`. */
export function recordOf(wanted: unknown, observed: unknown): AppliedRecord {
  return { wanted: jsonHash(wanted), observed: jsonHash(observed) };
}

/** Returns true if `record` says that exactly this was already written and had exactly this result. */
export function isSettled(record: AppliedRecord | undefined, wanted: unknown, observed: unknown): boolean {
  return record !== undefined && record.wanted === jsonHash(wanted) && record.observed === jsonHash(observed);
}

/** The part of a provider object that an apply can change; the `observed` of its record. */
export function appliedPart(object: DynamicObject): Readonly<Record<string, unknown>> {
  const { status: _status, metadata, ...fields } = object;
  const { labels, annotations, ownerReferences } = metadata;
  return { ...fields, metadata: { labels, annotations, ownerReferences } };
}

/**
 * Whether the provider's object must be applied: a wanted value is missing or different, somebody took a wanted field from us, or a field
 * that only we hold is no longer wanted. Other fields of others never count, so late-initialised fields cause no writes.
 */
export function needsApply(
  wanted: DynamicObject,
  observed: DynamicObject | undefined,
  record?: AppliedRecord,
): boolean {
  if (observed === undefined) return true;
  const owned = ownedFields(observed);
  const [there, deciding] = [appliedPart(observed), appliedPart(decidingContent(wanted, observed))];
  const differs =
    !contains(there, deciding) ||
    !holdsAll(owned, deciding) ||
    surplusPaths(owned.applied, wanted).some((path) => !isTraceContext(path)) ||
    surplusPaths(owned.legacy, wanted).length > 0;
  return differs && !isSettled(record, wanted, there);
}

/** The context of a trace is only ever written with something else. */
function isTraceContext([metadata, annotations, key]: FieldPath): boolean {
  return metadata === "metadata" && annotations === "annotations" && key === traceAnnotation;
}

/** A merge patch that removes what an older agent's update left behind; undefined when nothing is left. Lists are not compared item by item. */
export function legacyRemoval(wanted: DynamicObject, observed: DynamicObject): object | undefined {
  const paths = surplusPaths(ownedFields(observed).legacy, wanted).filter((path) =>
    path.every((step) => typeof step === "string" && !/^[kvi]:/.test(step)),
  );
  return paths.length === 0 ? undefined : removalTree(paths);
}

function removalTree(paths: readonly FieldPath[]): Readonly<Record<string, unknown>> {
  const heads = new Set(paths.map(([head = ""]) => head));
  return Object.fromEntries(
    [...heads].map((head) => {
      const tails = paths.filter(([first]) => first === head).map(([, ...tail]) => tail);
      return [head, tails.some((tail) => tail.length === 0) ? null : removalTree(tails)];
    }),
  );
}
