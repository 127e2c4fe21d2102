/**
 * Judges deletions in namespaces of the app cluster that are themselves being deleted: all claims of such a namespace go, of every API,
 * so few of each API say little. Keeps which namespaces are held, because the claims of an API that is unbound no longer count.
 */
import { releaseDeletionsAnnotation } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import { type DynamicObject, namespaces, type ObjectMeta } from "@klutch/kube-core";
import type { ConsumerCluster } from "../../clusters.ts";
import type { NamespaceMappings } from "../service-namespace/namespace-mappings.ts";

/** Options of the part. */
export interface DeletedNamespacesOptions {
  readonly consumer: Pick<ConsumerCluster, "client">;
  /** Counts the claims of all bound APIs of one provider. */
  readonly namespaces: Pick<NamespaceMappings, "population" | "onChange">;
  readonly clock: Pick<Clock, "monotonic">;
  /** Fewer claims are never held. 0 switches the hold off. */
  readonly limit: number;
  /** Until then after the start, the caches may lack claims. */
  readonly graceMs: number;
}

/**
 * `free`: the namespace says nothing about the deletion. `confirmed`: a person let the deletions of this namespace go on. `early`: the claims
 * are not all known yet.
 */
export type NamespaceVerdict =
  | { readonly state: "free" | "confirmed" | "early" }
  | { readonly state: "held"; readonly why: string };

const free: NamespaceVerdict = { state: "free" };
const early: NamespaceVerdict = { state: "early" };
const confirmed: NamespaceVerdict = { state: "confirmed" };
/** An answer is good for this long. */
const freshMs = 1_000;

interface Held {
  readonly uid: string | undefined;
  readonly why: string;
}

/** Asks for the live namespace, and only where enough claims live or a hold may exist. */
export class DeletedNamespaces implements Disposable {
  readonly #options: DeletedNamespacesOptions;
  readonly #held = new Map<string, Held>();
  readonly #asked = new Map<string, { readonly at: number; readonly metadata: Promise<ObjectMeta> }>();
  readonly #startedAt: number;
  readonly #subscription: Disposable;
  #isResumed = false;

  constructor(options: DeletedNamespacesOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.#subscription = options.namespaces.onChange((namespace) => void this.#asked.delete(namespace));
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  /** An earlier process held namespaces: with claims gone since, their number proves nothing. */
  resume(): void {
    this.#isResumed = true;
  }

  /** Nothing is held any more. */
  end(): void {
    this.#isResumed = false;
    this.#held.clear();
    this.#asked.clear();
  }

  /** Judges one deletion; `releasedAtMs` is when a person last released the claim's API. Throws what the server answers. */
  async judge(
    namespace: string | undefined,
    releasedAtMs: number,
    signal: AbortSignal,
  ): Promise<NamespaceVerdict> {
    const { limit, namespaces: mappings, clock, graceMs } = this.#options;
    if (namespace === undefined || limit === 0) return free;
    const count = mappings.population(namespace);
    const isEarly = clock.monotonic() - this.#startedAt < graceMs;
    const isSmall = count < limit && !this.#isResumed;
    if (isSmall && !isEarly && !this.#held.has(namespace)) return free;
    const { deletionTimestamp, uid, annotations } = await this.#observe(namespace, signal);
    const isConfirmed = annotations?.[releaseDeletionsAnnotation] === "true";
    if (deletionTimestamp === undefined || isConfirmed) {
      this.#held.delete(namespace);
      return isConfirmed && deletionTimestamp !== undefined ? confirmed : free;
    }
    // The time of the deletion is in whole seconds: a release of the same one may have been before it.
    if (releasedAtMs >= Date.parse(deletionTimestamp) + 1_000) return confirmed;
    const standing = this.#held.get(namespace);
    if (standing?.uid === uid && standing !== undefined) return { state: "held", why: standing.why };
    if (isSmall) return isEarly ? early : free;
    const why = `namespace ${namespace} is being deleted with its ${count} claims; none of them is deleted upstream. If this is intended: klutch release namespace/${namespace}`;
    this.#held.set(namespace, { uid, why });
    return { state: "held", why };
  }

  /** Asks the server itself, never a cache, and at most once a second. */
  async #observe(namespace: string, signal: AbortSignal): Promise<ObjectMeta> {
    const now = this.#options.clock.monotonic();
    const last = this.#asked.get(namespace);
    const isFresh = last !== undefined && now - last.at < freshMs;
    const metadata = isFresh ? last.metadata : this.#ask(namespace, signal);
    if (!isFresh) this.#asked.set(namespace, { at: now, metadata });
    try {
      return await metadata;
    } catch (error) {
      this.#asked.delete(namespace);
      throw error;
    }
  }

  async #ask(name: string, signal: AbortSignal): Promise<ObjectMeta> {
    const found = await this.#options.consumer.client.find<DynamicObject>(namespaces, { name }, { signal });
    return found?.metadata ?? {};
  }
}
