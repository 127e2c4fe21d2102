/** Knowledge about the pairs of one bound resource: whether they are in sync, and otherwise what a plan depends on. */
import {
  apiVersionOf,
  type DynamicObject,
  isDeleting,
  jsonEqual,
  keyOfRef,
  type ResourceType,
} from "@klutch/kube-core";
import {
  appliedPart,
  type AppliedRecord,
  defaultMetadataRule,
  type MissingSecret,
  needsApply,
  type ObservedPair,
  recordOf,
  type SecretReason,
  reduceManagedFields,
  statusRecordOf,
  type StatusView,
  type Step,
} from "@klutch/sync";
import type { BoundDigest } from "../../digests.ts";
import { followPair } from "../../traces.ts";
import type { NameState } from "../claimed-resource/taken-names.ts";
import type { BoundCaches, BoundResource } from "./bound-resource.ts";
import type { PairPlaces, PlacedPair } from "./pair-places.ts";

/**
 * Observes pairs and remembers what became of them. There are two: one that knows from digests which pairs are in sync and reads of the
 * others what their plan depends on, and a naive one that reads both objects each time. Both lead to the same plans.
 */
export interface PairStore {
  /**
   * `unknown`: nothing can be decided before a cache is filled, or the object is not this tenant's. `gone`: neither object is there. `awaitsStatus`: nothing is to
   * be written before `isOverdue`. Throws `StaleCacheError` when an object is no longer what its cache shows.
   */
  observe(key: string, signal: AbortSignal, isOverdue: boolean): Promise<Observation>;
  /** A step of the pair's plan was carried out, and this is what the server answered. */
  rememberWrite(observed: PairObservation, step: Step, answer: DynamicObject): void;
  /** Every step was carried out, and nothing is left to be written. `written`: the upstream object as the last of them left it. */
  rememberSynced(observed: PairObservation, written: DynamicObject | undefined): void;
}

/** See `PairStore.observe`. */
export type Observation = "unknown" | "gone" | "inSync" | "awaitsStatus" | PairObservation;

/** A pair for a decision. Where content does not matter to it, objects have metadata only. */
export interface PairObservation extends ObservedPair {
  readonly placed: PlacedPair;
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
  /** Nothing else differs, and nothing else was read. Default false. */
  readonly onlyStatusDiffers?: boolean | undefined;
}

/** Caches that a store reads and keeps current. */
export type StoreCaches = BoundCaches & { readonly places: Pick<PairPlaces, "find"> };

/**
 * Results of the last writes, where servers stored something else than was sent: without them the writes would be repeated for ever.
 * Statuses are kept as the texts that digests have.
 */
export interface WriteRecords {
  applied: AppliedRecord | undefined;
  status: AppliedRecord | undefined;
}

/** Builds the observation of a pair. */
export function observationOf(
  placed: PlacedPair,
  consumer: DynamicObject | undefined,
  provider: DynamicObject | undefined,
  bound: BoundResource,
  records: WriteRecords | undefined,
  isOverdue: boolean,
): PairObservation {
  const { ref, target, unseen, isOthers, second, mapping } = placed;
  followPair({ consumer, provider });
  return {
    placed,
    ref,
    target,
    unseen,
    isOthers,
    second,
    mapping,
    missingSecret: missingSecretOf(placed, bound),
    withdrawn: bound.withdrawn(),
    limitReached: bound.limit.wordsFor(placed.key),
    quotaNotCounted: bound.limit.awaitsCount(placed.key),
    away: bound.away(),
    tenant: bound.provider.tenant,
    rule: defaultMetadataRule,
    view: bound.view,
    now: bound.runtime.clock.now(),
    isOverdue,
    isolation: bound.isolation,
    creationsHeld: bound.creations.held,
    deletionHeld: bound.breaker.whyHeld(placed.key),
    consumer,
    provider,
    applied: records?.applied,
    lastWrittenStatus: records?.status,
  };
}

/**
 * The Secret with the claim's credentials, if the app cluster cannot have it. What a claim says of it is believed until it is decided again: an
 * earlier process found it out. A claim that is being deleted does not begin to say it.
 */
export function missingSecretOf(
  { ref: { namespace }, consumer, provider }: Pick<PlacedPair, "ref" | "consumer" | "provider">,
  { takenSecrets }: Pick<BoundResource, "takenSecrets">,
): MissingSecret | undefined {
  const name = provider?.secret;
  if (namespace === undefined || name === undefined) return undefined;
  const said = consumer?.secretReason;
  if (consumer !== undefined && isDeleting(consumer) && said === undefined) return undefined;
  const key = keyOfRef({ namespace, name });
  const state = takenSecrets.state(key);
  if (state === undefined && said !== undefined) takenSecrets.ask(key);
  const reason = state === undefined ? said : secretReasonOf[state];
  return reason === undefined ? undefined : { name, reason };
}

const secretReasonOf: Readonly<Record<NonNullable<NameState>, SecretReason | undefined>> = {
  free: undefined,
  taken: "NameTaken",
  typeRefused: "SecretTypeRefused",
  tooMany: "TooManyObjects",
};

/** Records the result of a write, if the server stored something else than was sent; otherwise a comparison is enough. */
export function recordWrite(
  records: WriteRecords,
  step: Step,
  answer: DynamicObject,
  view: StatusView,
): void {
  if (step.do === "applyProvider") {
    const kept = reduceManagedFields(answer);
    records.applied = needsApply(step.content, kept) ? recordOf(step.content, appliedPart(kept)) : undefined;
  }
  if (step.do === "writeStatus" && !jsonEqual(answer.status, step.status))
    records.status = statusRecordOf(answer, step.status, answer.status, view);
}

/** Returns the object as far as its digest shows it, which is enough for most decisions and all events. */
export function stubOf(type: ResourceType, { metadata }: Pick<BoundDigest, "metadata">): DynamicObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata };
}
