/** The store of pairs that is naive: it reads both objects for each decision. */
import type { DynamicObject } from "@klutch/kube-core";
import { readLive } from "@klutch/kube-runtime";
import type { Step } from "@klutch/sync";
import {
  observationOf,
  type PairObservation,
  type PairStore,
  type PairStoreOptions,
  recordWrite,
  type WriteRecords,
} from "./pair-store.ts";

/**
 * Needs nothing of the caches but metadata, and remembers only what servers made of its writes. It says of no pair that it is in sync:
 * the plan finds nothing to do. Two reads for each reconcile, so it is no match for many pairs; it shows what the fast store has to do.
 */
export class NaivePairStore implements PairStore {
  readonly #options: PairStoreOptions;
  readonly #records = new Map<string, WriteRecords>();

  constructor(options: PairStoreOptions) {
    this.#options = options;
  }

  async observe(
    key: string,
    signal: AbortSignal,
    isOverdue: boolean,
  ): Promise<"unknown" | "gone" | PairObservation> {
    const { places, type, providerType, consumer, provider, consumerCache, providerInformer } = this.#options;
    const placed = places.find(key);
    if (placed === undefined) return "unknown";
    const { ref, target, consumer: claim, provider: upstream } = placed;
    if (claim === undefined && upstream === undefined) {
      this.#records.delete(key);
      return "gone";
    }
    const [consumerObject, providerObject] = await Promise.all([
      claim && readLive({ client: consumer.client, type, ref, kept: claim, cache: consumerCache }, signal),
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
    return observationOf(placed, consumerObject, providerObject, this.#options, records, isOverdue);
  }

  rememberWrite({ placed: { key } }: PairObservation, step: Step, answer: DynamicObject): void {
    const records = this.#records.get(key) ?? { applied: undefined, status: undefined };
    recordWrite(records, step, answer, this.#options.view);
    if (records.applied !== undefined || records.status !== undefined) this.#records.set(key, records);
  }

  rememberSynced(): void {}
}
