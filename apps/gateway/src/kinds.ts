/** The caches of all kinds that are in use. */
import type { Clock, Random, Transport } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";
import { type FollowedKind, followKind } from "./follow-kind.ts";
import type { HistoryBounds } from "./history.ts";
import { KindCache } from "./kind-cache.ts";

/** Options of the caches. */
export interface KindsOptions {
  readonly transport: Pick<Transport, "send">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly bounds: HistoryBounds;
  /** A kind is followed for so long after its last use. Default 600 000. */
  readonly idleMs?: number | undefined;
}

interface Followed {
  readonly cache: KindCache;
  readonly stop: AbortController;
  readonly done: Promise<void>;
  usedMs: number;
}

/** Begins to follow a kind at its first use, and ends when it has not been used for a while. */
export class Kinds implements AsyncDisposable {
  readonly #options: KindsOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #stop = new AbortController();
  readonly #sweeping: Promise<void>;

  constructor(options: KindsOptions) {
    this.#options = options;
    this.#sweeping = this.#sweep();
  }

  /** Returns the cache of a kind, which may not be synced yet. */
  use(kind: FollowedKind): KindCache {
    const key = `${kind.plural}.${kind.version}.${kind.group}`;
    const { clock, bounds } = this.#options;
    let followed = this.#followed.get(key);
    if (followed === undefined) {
      const cache = new KindCache(bounds);
      const stop = new AbortController();
      const done = followKind({ ...this.#options, kind, cache, signal: stop.signal });
      this.#followed.set(key, (followed = { cache, stop, done, usedMs: 0 }));
    }
    followed.usedMs = clock.monotonic();
    return followed.cache;
  }

  /** Returns the caches, for metrics. */
  caches(): readonly KindCache[] {
    return [...this.#followed.values()].map(({ cache }) => cache);
  }

  #end(isUnwanted: (key: string) => boolean): void {
    for (const [key, { stop }] of this.#followed)
      if (isUnwanted(key)) {
        this.#followed.delete(key);
        stop.abort(new Error("the kind is not followed any more"));
      }
  }

  async #sweep(): Promise<void> {
    const { clock, idleMs = 600_000 } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(idleMs / 10, { signal }).catch(() => undefined);
      const nowMs = clock.monotonic();
      for (const followed of this.#followed.values()) if (followed.cache.watches > 0) followed.usedMs = nowMs;
      this.#end((key) => nowMs - (this.#followed.get(key)?.usedMs ?? nowMs) > idleMs);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the gateway has stopped"));
    const all = [...this.#followed.values()];
    this.#end(() => true);
    await Promise.all([...all.map(({ done }) => done), this.#sweeping]);
  }
}
