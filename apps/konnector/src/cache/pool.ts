/** The caches of one cluster: one per resource and scope, however many parts need it (DESIGN §4.6). */
import type { Clock, DynamicObject, KubeClient, Random, ResourceType, Scope } from "@klutch/kube";
import { Informer } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { SharedCache } from "./shared-cache.ts";

/** Which objects a cache holds. */
export interface CacheScope extends Scope {
  readonly type: ResourceType;
  /** Only metadata is fetched. Default false. */
  readonly metadataOnly?: boolean | undefined;
}

/** The right to use a cache; disposing the last one stops its watch. */
export interface CacheLease extends AsyncDisposable {
  readonly cache: SharedCache;
}

/** Options of a pool. */
export interface CachePoolOptions {
  readonly client: KubeClient;
  /** What is kept of each object. Default: everything but `managedFields`. */
  readonly transform?: ((object: DynamicObject) => DynamicObject) | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
}

/** Name of the index by namespace that every cache has. */
export const byNamespace = "namespace";

/** See the module comment. */
export class CachePool implements AsyncDisposable {
  readonly #options: CachePoolOptions;
  readonly #caches = new Map<string, { readonly cache: SharedCache; users: number }>();

  constructor(options: CachePoolOptions) {
    this.#options = options;
  }

  /** The cache of this scope, started if it is new. It may not be synced yet. */
  acquire(scope: CacheScope): CacheLease {
    const key = keyOfScope(scope);
    const entry = this.#caches.get(key) ?? { cache: this.#start(scope), users: 0 };
    entry.users++;
    this.#caches.set(key, entry);
    let isReleased = false;
    return {
      cache: entry.cache,
      [Symbol.asyncDispose]: async () => {
        if (isReleased) return;
        isReleased = true;
        entry.users--;
        if (entry.users > 0) return;
        this.#caches.delete(key);
        await entry.cache[Symbol.asyncDispose]();
      },
    };
  }

  /** Number of watches. */
  get size(): number {
    return this.#caches.size;
  }

  /** Names of the caches that are not synced, or of which nothing was heard for too long. */
  problems(): string[] {
    return [...this.#caches]
      .filter(([, { cache }]) => !cache.informer.synced || cache.informer.status().stale)
      .map(([key]) => key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const caches = [...this.#caches.values()];
    this.#caches.clear();
    await Promise.all(caches.map(({ cache }) => cache[Symbol.asyncDispose]()));
  }

  #start(scope: CacheScope): SharedCache {
    const { client, transform, logger, clock, random } = this.#options;
    const indexes = { [byNamespace]: (object: DynamicObject) => [object.metadata.namespace ?? ""] };
    const informer = new Informer<DynamicObject>({
      ...scope,
      client,
      transform,
      indexes,
      logger,
      clock,
      random,
    });
    const cache = new SharedCache(informer, clock);
    informer.start();
    return cache;
  }
}

function keyOfScope(scope: CacheScope): string {
  const { type, namespace = "*", labelSelector = "", fieldSelector = "", metadataOnly = false } = scope;
  const selector = [labelSelector, fieldSelector, metadataOnly ? "metadata" : ""].filter(
    (part) => part !== "",
  );
  return [`${type.plural}.${type.group}/${type.version}`, namespace, ...selector].join(" ");
}
