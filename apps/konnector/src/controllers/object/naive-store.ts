/** Naive store of pairs: reads both objects for each decision. */
import type { DynamicObject } from "@klutch/kube-core";
import { readLive } from "@klutch/kube-runtime";
import type { Step } from "@klutch/sync";
import type { BoundResource } from "./bound-resource.ts";
import {
  observationOf,
  type PairObservation,
  type PairStore,
  recordWrite,
  type StoreCaches,
  type WriteRecords,
} from "./pair-store.ts";

/**
 * Needs only metadata from the caches, and remembers only what servers stored differently. Never reports a pair as in sync: its plan has no
 * steps then. Two reads per reconcile make it too slow for many pairs; it specifies what the fast store has to do.
 */
export class NaivePairStore implements PairStore {
  readonly #bound: BoundResource;
  readonly #caches: StoreCaches;
  readonly #records = new Map<string, WriteRecords>();

  constructor(bound: BoundResource, caches: StoreCaches) {
    this.#bound = bound;
    this.#caches = caches;
  }

  async observe(
    key: string,
    signal: AbortSignal,
    isOverdue: boolean,
  ): Promise<"unknown" | "gone" | PairObservation> {
    const { type, providerType, consumer, provider } = this.#bound;
    const { places, claims, providerInformer } = this.#caches;
    const placed = places.find(key);
    if (placed === undefined) return "unknown";
    const { ref, target, consumer: claim, provider: upstream } = placed;
    if (claim === undefined && upstream === undefined) {
      this.#records.delete(key);
      return "gone";
    }
    const [consumerObject, providerObject] = await Promise.all([
      claim && readLive({ client: consumer.client, type, ref, kept: claim, cache: claims }, signal),
      upstream && target
        ? readLive(
            {
              client: provider.client,
              type: providerType,
              ref: target,
              kept: upstream,
              cache: providerInformer,
            },
            signal,
          )
        : undefined,
    ]);
    const records = this.#records.get(key);
    return observationOf(placed, consumerObject, providerObject, this.#bound, records, isOverdue);
  }

  rememberWrite({ placed: { key } }: PairObservation, step: Step, answer: DynamicObject): void {
    const records = this.#records.get(key) ?? { applied: undefined, status: undefined };
    recordWrite(records, step, answer, this.#bound.view);
    if (records.applied !== undefined || records.status !== undefined) this.#records.set(key, records);
  }

  rememberSynced(): void {}
}
