/** The store of pairs that is fast: of most pairs it knows from digests that they are in sync, and reads neither object. */
import { syncerFinalizer } from "@klutch/api";
import { type DynamicObject, isDeleting } from "@klutch/kube-core";
import { readLive } from "@klutch/kube-runtime";
import {
  type DigestVerdict,
  isBound,
  compareDigests,
  providerDigest,
  reduceManagedFields,
  type LastSynced,
  lastSyncedOf,
  type Step,
} from "@klutch/sync";
import type { BoundDigest } from "../../digests.ts";
import type { PlacedPair } from "./pair-places.ts";
import {
  observationOf,
  type PairObservation,
  type PairStore,
  type PairStoreOptions,
  recordWrite,
  stubOf,
  type WriteRecords,
} from "./pair-store.ts";

/** Of one pair; lost without harm on restart. */
interface PairMemory extends WriteRecords {
  /** The contents of both sides with which there was nothing to write to the provider. */
  synced: LastSynced | undefined;
}

/**
 * Judges by digests, and reads of a pair that is not in sync what its plan depends on: from the payload that came with the event, or
 * live where that was dropped. When a pair is in sync, its payloads are dropped. Holds some hashes for each pair, and no object.
 */
export class DigestPairStore implements PairStore {
  readonly #options: PairStoreOptions;
  readonly #memories = new Map<string, PairMemory>();

  constructor(options: PairStoreOptions) {
    this.#options = options;
  }

  async observe(key: string, signal: AbortSignal): Promise<"unknown" | "gone" | "inSync" | PairObservation> {
    const placed = this.#options.places.find(key);
    if (placed === undefined) return "unknown";
    const { consumer, provider } = placed;
    if (consumer === undefined && provider === undefined) {
      this.#memories.delete(key);
      return "gone";
    }
    const memory = this.#memoryOf(key);
    const verdict = this.#judge(placed, memory);
    if (verdict === "needsBoth" || verdict === "claimChanged")
      return this.#read(placed, verdict, memory, signal);
    if (consumer !== undefined && provider !== undefined) memory.synced ??= lastSyncedOf(consumer, provider);
    if (verdict === "statusDiffers") return this.#readStatus(placed, memory, signal);
    release(placed);
    return "inSync";
  }

  rememberWrite({ placed }: PairObservation, step: Step, answer: DynamicObject): void {
    recordWrite(this.#memoryOf(placed.key), step, answer);
  }

  rememberSynced({ placed, onlyStatusDiffers }: PairObservation, written: DynamicObject | undefined): void {
    release(placed);
    if (onlyStatusDiffers === true) return;
    const provider = written === undefined ? placed.provider : providerDigest(written);
    if (placed.consumer !== undefined && provider !== undefined)
      this.#memoryOf(placed.key).synced = lastSyncedOf(placed.consumer, provider);
  }

  #memoryOf(key: string): PairMemory {
    let memory = this.#memories.get(key);
    if (memory === undefined) {
      memory = { synced: undefined, applied: undefined, status: undefined };
      this.#memories.set(key, memory);
    }
    return memory;
  }

  #judge({ consumer, provider, second }: PlacedPair, memory: PairMemory): DigestVerdict {
    if (this.#options.unbinding !== undefined || second !== undefined) return "needsBoth";
    return compareDigests(consumer, provider, memory.synced, memory.status, syncerFinalizer);
  }

  /** As much content as the decision needs. */
  async #read(
    placed: PlacedPair,
    verdict: "needsBoth" | "claimChanged",
    memory: PairMemory,
    signal: AbortSignal,
  ): Promise<PairObservation> {
    const isProviderKnown = verdict === "claimChanged";
    const needs = this.#options.unbinding !== undefined ? noContent : neededContent(placed, isProviderKnown);
    // At once: what is kept of this version goes when a later one comes.
    const [consumer, provider] = await Promise.all([
      needs.consumer ? this.#readConsumer(placed, signal) : this.#stub(placed.consumer),
      needs.provider ? this.#readUpstream(placed, signal) : this.#stub(placed.provider),
    ]);
    const observed = observationOf(placed, consumer, provider, this.#options, memory);
    // The upstream object is as it was left, so its content need not be compared. Its status may still differ.
    const isPartial = isProviderKnown && placed.provider?.status !== placed.consumer?.status;
    return isPartial ? { ...observed, isPartial } : observed;
  }

  async #readStatus(placed: PlacedPair, memory: PairMemory, signal: AbortSignal): Promise<PairObservation> {
    const provider = await this.#readProvider(placed, signal);
    const stub = this.#stub(placed.consumer);
    const hasStatus = placed.consumer?.status !== undefined;
    const consumer = stub === undefined || !hasStatus ? stub : { ...stub, status: {} };
    const observed = observationOf(placed, consumer, provider, this.#options, memory);
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
    const { provider, providerType: type, providerInformer } = this.#options;
    return readLive({ client: provider.client, type, ref, kept, cache: providerInformer }, signal);
  }

  async #readConsumer(
    { consumer: kept, ref }: PlacedPair,
    signal: AbortSignal,
  ): Promise<DynamicObject | undefined> {
    if (kept === undefined) return undefined;
    const { consumer, type, consumerCache: cache } = this.#options;
    return (
      kept.payload.read() ?? (await readLive({ client: consumer.client, type, ref, kept, cache }, signal))
    );
  }

  #stub(digest: BoundDigest | undefined): DynamicObject | undefined {
    return digest && stubOf(this.#options.type, digest);
  }
}

const noContent = { consumer: false, provider: false };

/** Deletions, adoptions and waits are decided by metadata; only a write of spec or status needs content. */
function neededContent(
  { consumer, provider, target }: PlacedPair,
  isProviderKnown: boolean,
): { readonly consumer: boolean; readonly provider: boolean } {
  if (consumer === undefined) {
    const isAdopted = provider !== undefined && !isDeleting(provider) && !isBound(provider);
    return { consumer: false, provider: isAdopted };
  }
  if (isDeleting(consumer) || target === undefined) return noContent;
  return { consumer: true, provider: !isProviderKnown };
}

/** No reconcile needs these versions any more. */
function release({ consumer, provider }: PlacedPair): void {
  consumer?.payload.drop();
  provider?.payload.drop();
}
