/**
 * Memory of a pair that is in sync, so that neither object has to stay in memory: a few metadata and hashes.
 * Most events can be decided with that alone; for the rest the objects are read again.
 */
import {
  adoptedAnnotation,
  boundAnnotation,
  clusterNamespaceAnnotation,
  consumerNameAnnotation,
  fieldManager,
  restoredAnnotation,
  specDigestAnnotation,
  traceAnnotation,
} from "@klutch/api";
import {
  type DynamicObject,
  isDeleting,
  isRecord,
  jsonHash,
  type ObjectMeta,
  recordAt,
} from "@klutch/kube-core";
import {
  appliedPart,
  type AppliedRecord,
  isBound,
  lacksEchoedMark,
  markOn,
  specMark,
  travellingContent,
} from "./content.ts";
import { legacyManager, valuesAt } from "./fields.ts";
import type { MetadataRule } from "./metadata-rules.ts";
import { bareText, claimStatusText, isBehind, isUnanswered, providerStatusText } from "./neutral-status.ts";
import type { StatusView } from "./status-view.ts";
import { credentialsSecretOf, saidSecretReason, type SecretReason } from "./taken-secret.ts";

/** An object without its content. */
export interface Digest {
  /** Names, identity, version, deletion, finalizers, and of the annotations only Klutch's marks. */
  readonly metadata: ObjectMeta;
  /**
   * Equal as long as nothing that is synced to the provider (or, on the provider, nothing that was applied) has changed. That of a claim equals that
   * of its upstream object when nothing has to be written there; where they differ, the objects must be compared.
   */
  readonly content: string;
  /** See neutral-status.ts. Undefined when there is no status. */
  readonly status: string | undefined;
  /** For a claim: the mark that its upstream object is to bear. For that object: the mark that it bears. */
  readonly mark: string | undefined;
  /** On the provider: fields that an older agent wrote must be removed by name, so its content is needed for every change. */
  readonly hasLegacy?: boolean | undefined;
  /** On the provider: the Secret with the claim's credentials. */
  readonly secret?: string | undefined;
  /** On the provider: the context of the trace that wrote it last, as it stands there. Never compared. */
  readonly cause?: string | undefined;
  /** For a claim: why its status says that it cannot have that Secret. */
  readonly secretReason?: SecretReason | undefined;
}

const marks: readonly string[] = [
  boundAnnotation,
  adoptedAnnotation,
  clusterNamespaceAnnotation,
  consumerNameAnnotation,
  restoredAnnotation,
];
/** Values that nearly all objects carry, held once. */
const unmarked: Readonly<Record<string, string>> = Object.freeze({});
const onlyBound: Readonly<Record<string, string>> = Object.freeze({ [boundAnnotation]: "true" });

/** Returns the digest of a claim: its content goes to the provider. */
export function consumerDigest(object: DynamicObject, rule: MetadataRule, view: StatusView): Digest {
  // No set of held fields names the type.
  const { apiVersion: _apiVersion, kind: _kind, ...content } = travellingContent(object, rule);
  const digest = {
    metadata: slim(object.metadata),
    content: jsonHash(content),
    status: claimStatusText(object, view),
    mark: specMark(object),
  };
  const secretReason = saidSecretReason(object);
  return secretReason === undefined ? digest : { ...digest, secretReason };
}

/**
 * Of an upstream object, with its `managedFields`: its content is what stands in the fields that our apply holds. A manager that changes the
 * value of one takes it from us (KEP-555), which changes the content, too. What others add does not count, and neither does the mark.
 */
export function providerDigest(object: DynamicObject, view: StatusView): Digest {
  const { metadata } = object;
  const entries = (metadata.managedFields ?? []).filter(isRecord);
  const own = entries.find(({ manager, operation }) => manager === fieldManager && operation === "Apply");
  const hasLegacy = entries.some(
    ({ manager, subresource }) => manager === legacyManager && subresource === undefined,
  );
  const fields = withoutMark(own?.["fieldsV1"], "f:");
  const held =
    !isRecord(fields) || hasLegacy ? withoutMark(appliedPart(object), "") : valuesAt(fields, object);
  const digest = {
    metadata: slim(metadata),
    content: jsonHash(held),
    status: providerStatusText(object, view),
    mark: markToCompare(object),
  };
  const secret = credentialsSecretOf(object, view);
  const cause = causeOn(metadata);
  if (!hasLegacy && secret === undefined && cause === undefined) return digest;
  return {
    ...digest,
    ...(hasLegacy ? { hasLegacy } : {}),
    ...(secret === undefined ? {} : { secret }),
    ...(cause === undefined ? {} : { cause }),
  };
}

/** Returns the context; a text of another length is none, and a stranger's may be long. */
function causeOn({ annotations }: ObjectMeta): string | undefined {
  const cause = annotations?.[traceAnnotation];
  return cause?.length === 55 ? cause : undefined;
}

/** One that is to be there and is not differs from all. A stranger's may be long. */
function markToCompare(object: DynamicObject): string | undefined {
  const mark = markOn(object);
  if (mark === undefined) return lacksEchoedMark(object) ? "" : undefined;
  return mark.length <= 22 ? mark : jsonHash(mark);
}

/** An object or a set of its fields, in which names have the prefix, without our mark and the context of a trace among the annotations. */
function withoutMark(holder: unknown, prefix: "" | "f:"): unknown {
  const metadata = recordAt(holder, `${prefix}metadata`);
  const annotations = recordAt(metadata, `${prefix}annotations`);
  const name = `${prefix}${specDigestAnnotation}`;
  const trace = `${prefix}${traceAnnotation}`;
  if (annotations[name] === undefined && annotations[trace] === undefined) return holder;
  const { [name]: _mark, [trace]: _trace, ...others } = annotations;
  const kept = { ...metadata, [`${prefix}annotations`]: others };
  return { ...recordAt(holder), [`${prefix}metadata`]: kept };
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

/** Two contents that belong together: with them there was nothing to write to the provider. */
export interface LastSynced {
  readonly consumerUid: string;
  readonly consumer: string;
  readonly providerUid: string;
  readonly provider: string;
  /** Versions that were compared in full: for a status that is not about its object's spec, no text says what the claim is to show. */
  readonly unanswered?: Versions | undefined;
}

/** The resource versions of both objects. */
export interface Versions {
  readonly consumer: string | undefined;
  readonly provider: string | undefined;
}

/**
 * The record of a pair for which a full comparison found nothing to write to the provider. `settled`: the versions for which there is nothing to
 * be written to the claim either.
 */
export function lastSyncedOf(consumer: Digest, provider: Digest, settled?: Versions): LastSynced {
  const record = {
    consumerUid: consumer.metadata.uid ?? "",
    consumer: consumer.content,
    providerUid: provider.metadata.uid ?? "",
    provider: provider.content,
  };
  const isUnanswered = settled !== undefined && provider.status !== undefined && isBehind(provider.status);
  return isUnanswered ? { ...record, unanswered: settled } : record;
}

/** Verdict about a pair without its objects. */
export type DigestVerdict =
  | "inSync"
  /** Only the status differs: the provider's object is needed to write it. */
  | "statusDiffers"
  /** The claim changed and the upstream object did not: the claim is needed, and applying needs no comparison. */
  | "claimChanged"
  /** In sync, but the provider has not written a status yet, and the claim does not show any. */
  | "noStatus"
  | "needsBoth";

/** See `DigestVerdict`. `lastWrittenStatus` are the texts of the last status that was written and of what the server made of it. */
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
  if (provider.mark !== undefined && provider.mark !== consumer.mark) return "needsBoth";
  if (provider.status !== undefined && isBehind(provider.status))
    return isSettled(consumer, provider, lastSynced) ? "inSync" : "needsBoth";
  return compareStatuses(consumer.status, provider.status, lastWrittenStatus);
}

function isSettled(consumer: Digest, provider: Digest, lastSynced: LastSynced | undefined): boolean {
  if (lastSynced?.unanswered === undefined) return false;
  const { consumerUid, providerUid, unanswered } = lastSynced;
  const isSame = ({ metadata }: Digest, uid: string, version: string | undefined): boolean =>
    metadata.uid === uid && metadata.resourceVersion !== undefined && metadata.resourceVersion === version;
  return (
    isSame(consumer, consumerUid, unanswered.consumer) && isSame(provider, providerUid, unanswered.provider)
  );
}

function compareStatuses(
  claim: string | undefined,
  provider: string | undefined,
  lastWritten: AppliedRecord | undefined,
): DigestVerdict {
  if (provider === undefined) {
    if (claim === undefined) return "noStatus";
    return isUnanswered(claim) ? "inSync" : "needsBoth";
  }
  if (provider === claim) return "inSync";
  const isProjected =
    lastWritten !== undefined && lastWritten.wanted === provider && lastWritten.observed === (claim ?? "");
  return isProjected ? "inSync" : "statusDiffers";
}

/** Returns true if the claim shows the upstream object's status, whatever the generations are: enough while a claim is deleted. */
export function showsSameStatus(claim: Digest, provider: Digest): boolean {
  if (provider.status === undefined) return true;
  return claim.status !== undefined && bareText(claim.status) === bareText(provider.status);
}
