/**
 * The live state of the app cluster's CustomResourceDefinition of one API, for decisions that must not rest on a cache: claims that are
 * missing because their CRD is, or was, were not deleted by anyone.
 */
import { crdNameOf } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  isTrue,
  type ResourceType,
} from "@klutch/kube-core";
import type { UnbindPolicy } from "@klutch/sync";
import type { ConsumerCluster } from "../../clusters.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";

/** State of the CRD. */
export interface CrdState {
  /** True if the CRD is served and not being deleted. Only then does the absence of a claim mean that it was deleted. */
  readonly isInForce: boolean;
  /** RFC 3339; undefined when there is none. */
  readonly createdAt: string | undefined;
  readonly deletionTimestamp: string | undefined;
}

/** Knows which deletions of a bound API are held. */
export interface Deletions {
  readonly breaker: DeletionBreaker;
  readonly unbinding?: UnbindPolicy | undefined;
  /** A person confirmed the deletion together with that of its namespace. Default false. */
  readonly isConfirmed?: boolean | undefined;
}

/** An answer is good for this long. */
const freshMs = 1_000;

/** Asks the server itself, never a cache, and at most once a second. Throws what the server answers. */
export class CrdGuard {
  readonly #consumer: ConsumerCluster;
  readonly #name: string;
  readonly #clock: Clock;
  #last: { readonly at: number; readonly state: Promise<CrdState> } | undefined;

  constructor(consumer: ConsumerCluster, type: ResourceType, clock: Clock) {
    this.#consumer = consumer;
    this.#name = crdNameOf({ group: type.group, resource: type.plural });
    this.#clock = clock;
  }

  /** Asks the server, at most once a second. */
  async observe(signal: AbortSignal): Promise<CrdState> {
    const now = this.#clock.monotonic();
    if (this.#last === undefined || now - this.#last.at >= freshMs)
      this.#last = { at: now, state: this.#ask(signal) };
    const { state } = this.#last;
    try {
      return await state;
    } catch (error) {
      this.#last = undefined;
      throw error;
    }
  }

  /** Returns true if one more upstream object may be deleted. Asks for the CRD, because the event of its deletion may be late or lost. */
  async mayDelete(
    { breaker, unbinding, isConfirmed = false }: Deletions,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { deletionTimestamp } = await this.observe(signal);
    if (deletionTimestamp !== undefined) breaker.holdForCrd(this.#name, deletionTimestamp);
    if (isConfirmed && deletionTimestamp === undefined) return true;
    // Unbinding with the policy `Delete` means all claims.
    return unbinding === "Delete" ? !breaker.isHeld : breaker.admit();
  }

  async #ask(signal: AbortSignal): Promise<CrdState> {
    const fieldSelector = `metadata.name=${this.#name}`;
    const { items } = await this.#consumer.client.list<DynamicObject>(customResourceDefinitions, {
      fieldSelector,
      signal,
    });
    const [crd] = items;
    const { creationTimestamp: createdAt, deletionTimestamp } = crd?.metadata ?? {};
    const isEstablished = isTrue(conditionsOf(crd), "Established");
    return { isInForce: isEstablished && deletionTimestamp === undefined, createdAt, deletionTimestamp };
  }
}
