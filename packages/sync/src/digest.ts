/**
 * What is remembered of a pair that is in sync, so that neither object has to stay in memory: a few metadata and hashes.
 * Most events can be decided with that alone; for the rest the objects are read again.
 */
import {
  adoptedAnnotation,
  boundAnnotation,
  clusterNamespaceAnnotation,
  consumerNameAnnotation,
  fieldManager,
  restoredAnnotation,
} from "@klutch/api";
import { type DynamicObject, isDeleting, isRecord, jsonHash, type ObjectMeta } from "@klutch/kube-core";
import { appliedPart, type AppliedRecord, isBound, travellingContent } from "./content.ts";
import { legacyManager, valuesAt } from "./fields.ts";
import type { MetadataRule } from "./metadata-rules.ts";

/** An object without its content. */
export interface Digest {
  /** Names, identity, version, deletion, finalizers, and of the annotations only Klutch's marks. */
  readonly metadata: ObjectMeta;
  /**
   * Equal as long as nothing that is synced to the provider (or, on the provider, nothing that was applied) has changed. That of a claim equals that
   * of its upstream object when nothing has to be written there; where they differ, the objects must be compared.
   */
  readonly content: string;
  /** Undefined when there is no status. */
  readonly status: string | undefined;
  /** On the provider: fields that an older agent wrote must be removed by name, so its content is needed for every change. */
  readonly hasLegacy?: boolean | undefined;
}

const marks: readonly string[] = [
  boundAnnotation,
  adoptedAnnotation,
  clusterNamespaceAnnotation,
  consumerNameAnnotation,
  restoredAnnotation,
];
/** What nearly all objects carry, held once. */
const unmarked: Readonly<Record<string, string>> = Object.freeze({});
const onlyBound: Readonly<Record<string, string>> = Object.freeze({ [boundAnnotation]: "true" });

/** Of a claim: its content is what goes to the provider. */
export function consumerDigest(object: DynamicObject, rule: MetadataRule): Digest {
  // No set of held fields names the type.
  const { apiVersion: _apiVersion, kind: _kind, ...content } = travellingContent(object, rule);
  return { metadata: slim(object.metadata), content: jsonHash(content), status: hashOf(object.status) };
}

/**
 * Of an upstream object, with its `managedFields`: its content is what stands in the fields that our apply holds; where that cannot be
 * said, the set of these fields. Whoever changes the value of one takes it from us (KEP-555), so an unchanged set means unchanged
 * values; what others add does not count.
 */
export function providerDigest(object: DynamicObject): Digest {
  const { metadata, status } = object;
  const entries = (metadata.managedFields ?? []).filter(isRecord);
  const own = entries.find(({ manager, operation }) => manager === fieldManager && operation === "Apply");
  const hasLegacy = entries.some(
    ({ manager, subresource }) => manager === legacyManager && subresource === undefined,
  );
  const fields = own?.["fieldsV1"];
  const held = !isRecord(fields) || hasLegacy ? appliedPart(object) : (valuesAt(fields, object) ?? fields);
  const digest = { metadata: slim(metadata), content: jsonHash(held), status: hashOf(status) };
  return hasLegacy ? { ...digest, hasLegacy } : digest;
}

/** One shape for all: there are as many of these as objects. */
function slim(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp, finalizers } = metadata;
  const annotations = marksOf(metadata.annotations);
  return { name, namespace, uid, resourceVersion, generation, deletionTimestamp, finalizers, annotations };
}

function marksOf(annotations: ObjectMeta["annotations"]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  let count = 0;
  for (const mark of marks) {
    const value = annotations?.[mark];
    if (value === undefined) continue;
    found[mark] = value;
    count++;
  }
  if (count === 0) return unmarked;
  return count === 1 && found[boundAnnotation] === "true" ? onlyBound : found;
}

function hashOf(status: unknown): string | undefined {
  return status === undefined ? undefined : jsonHash(status);
}

/** Two contents that belong together: with them there was nothing to write to the provider. */
export interface LastSynced {
  readonly consumerUid: string;
  readonly consumer: string;
  readonly providerUid: string;
  readonly provider: string;
}

/** The record of a pair for which a full comparison found nothing to write to the provider. */
export function lastSyncedOf(consumer: Digest, provider: Digest): LastSynced {
  return {
    consumerUid: consumer.metadata.uid ?? "",
    consumer: consumer.content,
    providerUid: provider.metadata.uid ?? "",
    provider: provider.content,
  };
}

/** What can be said of a pair without its objects. */
export type DigestVerdict =
  | "inSync"
  /** Only the status differs: the provider's object is needed to write it. */
  | "statusDiffers"
  /** The claim changed and the upstream object did not: the claim is needed, and applying needs no comparison. */
  | "claimChanged"
  | "needsBoth";

/** See `DigestVerdict`. `lastWrittenStatus` is the last status that was written and what the server made of it. */
export function compareDigests(
  consumer: Digest | undefined,
  provider: Digest | undefined,
  lastSynced: LastSynced | undefined,
  lastWrittenStatus: AppliedRecord | undefined,
  finalizer: string,
): DigestVerdict {
  if (consumer === undefined || provider === undefined) return "needsBoth";
  if (isDeleting(consumer) || isDeleting(provider) || !isBound(provider)) return "needsBoth";
  if (consumer.metadata.finalizers?.includes(finalizer) !== true) return "needsBoth";
  if (consumer.metadata.annotations?.[restoredAnnotation] !== undefined) return "needsBoth";
  // Those of cluster-scoped objects also carry their tenant's marks.
  const isSame = consumer.metadata.namespace !== undefined && consumer.content === provider.content;
  if (!isSame) {
    if (lastSynced === undefined) return "needsBoth";
    if (consumer.metadata.uid !== lastSynced.consumerUid || provider.metadata.uid !== lastSynced.providerUid)
      return "needsBoth";
    if (provider.content !== lastSynced.provider) return "needsBoth";
    if (consumer.content !== lastSynced.consumer)
      return provider.hasLegacy === true ? "needsBoth" : "claimChanged";
  }
  if (provider.status === undefined || provider.status === consumer.status) return "inSync";
  const isProjected =
    lastWrittenStatus !== undefined &&
    lastWrittenStatus.wanted === provider.status &&
    lastWrittenStatus.observed === (consumer.status ?? jsonHash(undefined));
  return isProjected ? "inSync" : "statusDiffers";
}
