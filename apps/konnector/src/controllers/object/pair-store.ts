/** What is known of the pairs of one bound resource: whether they are in sync, and otherwise what a plan is made of. */
import type { Clock } from "@klutch/kube";
import { apiVersionOf, type DynamicObject, jsonEqual, type ResourceType } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import {
  appliedPart,
  type AppliedRecord,
  defaultMetadataRule,
  type Isolation,
  needsApply,
  type ObservedPair,
  recordOf,
  reduceManagedFields,
  statusRecordOf,
  type StatusView,
  type Step,
  type UnbindPolicy,
} from "@klutch/sync";
import type { ConsumerCluster, ProviderCluster } from "../../clusters.ts";
import type { BoundDigest } from "../../digests.ts";
import type { MultiNamespaceInformer } from "../service-namespace/multi-namespace-informer.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import type { PairPlaces, PlacedPair } from "./pair-places.ts";

/**
 * Observes pairs and remembers what became of them. There are two: one that knows from digests which pairs are in sync and reads of the
 * others what their plan depends on, and a naive one that reads both objects each time. Both lead to the same plans.
 */
export interface PairStore {
  /**
   * `unknown`: nothing can be said before a cache is filled, or it is nobody's. `gone`: neither object is there. `awaitsStatus`: nothing is to
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

/** What the stores of one resource need. */
export interface PairStoreOptions {
  /** The resource in the app cluster. */
  readonly type: ResourceType;
  /** The resource on the provider: another scope under isolation Namespaced. */
  readonly providerType: ResourceType;
  readonly isolation: Isolation;
  readonly view: StatusView;
  readonly consumer: Pick<ConsumerCluster, "client">;
  readonly provider: Pick<ProviderCluster, "client" | "tenant">;
  readonly consumerCache: Pick<ReadYourWritesCache<BoundDigest>, "wrote">;
  readonly providerInformer: Pick<MultiNamespaceInformer<BoundDigest>, "wrote">;
  readonly places: Pick<PairPlaces, "find">;
  readonly breaker: Pick<DeletionBreaker, "isHeld">;
  readonly runtime: { readonly clock: Pick<Clock, "now"> };
  /** While the API is being unbound no pair is in sync. */
  readonly unbinding?: UnbindPolicy | undefined;
}

/**
 * What the last writes left behind, where servers made something else of them than was sent: without it they would be sent for ever. Of
 * statuses it is the texts that digests have.
 */
export interface WriteRecords {
  applied: AppliedRecord | undefined;
  status: AppliedRecord | undefined;
}

/** Puts the pair together. */
export function observationOf(
  placed: PlacedPair,
  consumer: DynamicObject | undefined,
  provider: DynamicObject | undefined,
  options: PairStoreOptions,
  records: WriteRecords | undefined,
  isOverdue: boolean,
): PairObservation {
  const { ref, target, unseen, isOthers, second, mapping } = placed;
  return {
    placed,
    ref,
    target,
    unseen,
    isOthers,
    second,
    mapping,
    tenant: options.provider.tenant,
    rule: defaultMetadataRule,
    view: options.view,
    now: options.runtime.clock.now(),
    isOverdue,
    isolation: options.isolation,
    deletionsHeld: options.breaker.isHeld,
    consumer,
    provider,
    applied: records?.applied,
    lastWrittenStatus: records?.status,
  };
}

/** Notes what the server made of a write; only where it is something else than was sent, for otherwise a comparison is enough. */
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

/** An object as far as its digest shows it, which is enough for most decisions and all events. */
export function stubOf(type: ResourceType, { metadata }: Pick<BoundDigest, "metadata">): DynamicObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata };
}
