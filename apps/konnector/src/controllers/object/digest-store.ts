/** Fast store of pairs: digests show that most pairs are in sync, so that neither object is read. */
import { syncerFinalizer } from "@klutch/api";
import { type DynamicObject, isDeleting } from "@klutch/kube-core";
import { readLive } from "@klutch/kube-runtime";
import {
  type DigestVerdict,
  isBound,
  compareDigests,
  isPlain,
  providerDigest,
  reduceManagedFields,
  type LastSynced,
  type MissingSecret,
  lastSyncedOf,
  showsSameStatus,
  type StatusView,
  type Step,
} from "@klutch/sync";
import type { BoundDigest } from "../../digests.ts";
import type { BoundResource } from "./bound-resource.ts";
import type { PlacedPair } from "./pair-places.ts";
import {
  type Observation,
  observationOf,
  type PairObservation,
  type PairStore,
  recordWrite,
  stubOf,
  type StoreCaches,
  missingSecretOf,
  type WriteRecords,
} from "./pair-store.ts";

/** Memory of one pair; lost without harm on restart. */
interface PairMemory extends WriteRecords {
  /** The contents of both sides with which there was nothing to write to the provider. */
  synced: LastSynced | undefined;
  /** The version of the claim that the present plan's last write, of its status, left; undefined without one. */
  shown: string | undefined;
  /** The Secret that it could not have when it was last in sync. */
  missingSecret: MissingSecret | undefined;
}

/**
 * Judges by digests, and reads of a pair that is not in sync what its plan depends on: from the payload that came with the event, or
 * live where that was dropped. When a pair is in sync, its payloads are dropped. Holds some hashes for each pair, and no object.
 */
export class DigestPairStore implements PairStore {
  readonly #bound: BoundResource;
  readonly #caches: StoreCaches;
  readonly #memories = new Map<string, PairMemory>();

  constructor(bound: BoundResource, caches: StoreCaches) {
    this.#bound = bound;
    this.#caches = caches;
  }

  async observe(key: string, signal: AbortSignal, isOverdue: boolean): Promise<Observation> {
    const placed = this.#caches.places.find(key);
    if (placed === undefined) return "unknown";
    const { consumer, provider } = placed;
    if (consumer === undefined && provider === undefined) {
      this.#memories.delete(key);
      return "gone";
    }
    const memory = this.#memoryOf(key);
    memory.shown = undefined;
    const verdict = this.#judge(placed, memory);
    if (verdict === "needsBoth" || verdict === "claimChanged") {
      const [claim, upstream] = await this.#read(placed, verdict, isOverdue, signal);
      return observationOf(placed, claim, upstream, this.#bound, memory, isOverdue);
    }
    if (consumer !== undefined && provider !== undefined) memory.synced ??= lastSyncedOf(consumer, provider);
    if (verdict === "statusDiffers")
      return this.#statusOf(placed, await this.#readProvider(placed, signal), memory);
    release(placed);
    if (verdict !== "noStatus" || !saysMissing(this.#bound.view)) return "inSync";
    return isOverdue ? this.#statusOf(placed, this.#stub(provider), memory) : "awaitsStatus";
  }

  rememberWrite({ placed }: PairObservation, step: Step, answer: DynamicObject): void {
    const memory = this.#memoryOf(placed.key);
    recordWrite(memory, step, answer, this.#bound.view);
    // What was written before an apply says that it was not sent.
    if (step.do === "applyProvider" || step.do === "patchProvider") memory.shown = undefined;
    if (step.do === "writeStatus") memory.shown = answer.metadata.resourceVersion;
  }

  rememberSynced(
    { placed, onlyStatusDiffers, missingSecret }: PairObservation,
    written: DynamicObject | undefined,
  ): void {
    release(placed);
    if (onlyStatusDiffers === true) return;
    const { consumer } = placed;
    const provider = written === undefined ? placed.provider : providerDigest(written, this.#bound.view);
    if (consumer === undefined || provider === undefined) return;
    const memory = this.#memoryOf(placed.key);
    memory.missingSecret = missingSecret;
    memory.synced = lastSyncedOf(consumer, provider, {
      consumer: memory.shown ?? consumer.metadata.resourceVersion,
      provider: provider.metadata.resourceVersion,
    });
  }

  #memoryOf(key: string): PairMemory {
    let memory = this.#memories.get(key);
    if (memory === undefined) {
      memory = {
        synced: undefined,
        shown: undefined,
        missingSecret: undefined,
        applied: undefined,
        status: undefined,
      };
      this.#memories.set(key, memory);
    }
    return memory;
  }

  #judge(placed: PlacedPair, memory: PairMemory): DigestVerdict {
    const { consumer, provider, second } = placed;
    if (this.#bound.unbinding !== undefined || second !== undefined) return "needsBoth";
    // The claim then shows something that its upstream object does not say.
    if (missingSecretOf(placed, this.#bound) !== undefined || memory.missingSecret !== undefined)
      return "needsBoth";
    return compareDigests(consumer, provider, memory.synced, memory.status, syncerFinalizer);
  }

  /** As much content of claim and upstream object as the decision needs. */
  async #read(
    placed: PlacedPair,
    verdict: "needsBoth" | "claimChanged",
    isOverdue: boolean,
    signal: AbortSignal,
  ): Promise<readonly [DynamicObject | undefined, DynamicObject | undefined]> {
    const isProviderKnown = verdict === "claimChanged";
    const isLetGo =
      this.#bound.unbinding !== undefined && placed.consumer?.metadata.deletionTimestamp === undefined;
    const isStatusDue = isOverdue && !isPlain(this.#bound.view);
    const isHeld = this.#bound.breaker.whyHeld(placed.key) !== undefined;
    const needs = isLetGo ? noContent : neededContent(placed, isProviderKnown, isStatusDue, isHeld);
    // At once: the payload of this version goes when a later one comes.
    return Promise.all([
      needs.consumer ? this.#readConsumer(placed, signal) : this.#stub(placed.consumer),
      needs.provider ? this.#readUpstream(placed, signal) : this.#stub(placed.provider),
    ]);
  }

  /** Nothing but the status differs, and what the claim shows does not matter. */
  #statusOf(placed: PlacedPair, provider: DynamicObject | undefined, memory: PairMemory): PairObservation {
    const stub = this.#stub(placed.consumer);
    const hasStatus = placed.consumer?.status !== undefined;
    const consumer = stub === undefined || !hasStatus ? stub : { ...stub, status: {} };
    const observed = observationOf(placed, consumer, provider, this.#bound, memory, false);
    return { ...observed, onlyStatusDiffers: true };
  }

  #readUpstream(placed: PlacedPair, signal: AbortSignal): Promise<DynamicObject | undefined> {
    // For adoption with the whole of its `managedFields`, which caches do not keep.
    return placed.consumer === undefined
      ? this.#readProviderLive(placed, signal)
      : this.#readProvider(placed, signal);
  }

  async #readProvider(placed: PlacedPair, signal: AbortSignal): Promise<DynamicObject | undefined> {
    const kept = placed.target === undefined ? undefined : placed.provider?.payload.read();
    if (kept !== undefined) return kept;
    const found = await this.#readProviderLive(placed, signal);
    return found === undefined ? undefined : reduceManagedFields(found);
  }

  async #readProviderLive(
    { provider: kept, target: ref }: PlacedPair,
    signal: AbortSignal,
  ): Promise<DynamicObject | undefined> {
    if (kept === undefined || ref === undefined) return undefined;
    const { provider, providerType: type } = this.#bound;
    const { providerInformer: cache } = this.#caches;
    return readLive({ client: provider.client, type, ref, kept, cache }, signal);
  }

  async #readConsumer(
    { consumer: kept, ref }: PlacedPair,
    signal: AbortSignal,
  ): Promise<DynamicObject | undefined> {
    if (kept === undefined) return undefined;
    const { consumer, type } = this.#bound;
    const { claims: cache } = this.#caches;
    return (
      kept.payload.read() ?? (await readLive({ client: consumer.client, type, ref, kept, cache }, signal))
    );
  }

  #stub(digest: BoundDigest | undefined): DynamicObject | undefined {
    return digest && stubOf(this.#bound.type, digest);
  }
}

const noContent = { consumer: false, provider: false };

/** Deletions and adoptions are decided by metadata; only a write of spec or status needs content. */
function neededContent(
  { consumer, provider, target }: PlacedPair,
  isProviderKnown: boolean,
  isStatusDue: boolean,
  isHeld: boolean,
): { readonly consumer: boolean; readonly provider: boolean } {
  if (consumer === undefined) {
    const isAdopted = provider !== undefined && !isDeleting(provider) && !isBound(provider);
    return { consumer: false, provider: isAdopted };
  }
  if (isDeleting(consumer)) {
    // A claim whose deletion is held shows something that its upstream object does not say.
    const isNews =
      provider !== undefined && isBound(provider) && (isHeld || !showsSameStatus(consumer, provider));
    return { consumer: isNews, provider: isNews };
  }
  if (target === undefined) return { consumer: isStatusDue, provider: false };
  return { consumer: true, provider: !isProviderKnown };
}

/** Returns true if a claim's status can say that its provider has not answered. */
function saysMissing({ hasNumber, mayBeUnknown }: StatusView): boolean {
  return hasNumber || mayBeUnknown;
}

/** No reconcile needs these versions any more. */
function release({ consumer, provider }: PlacedPair): void {
  consumer?.payload.drop();
  provider?.payload.drop();
}
