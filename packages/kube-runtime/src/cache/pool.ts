/** The caches of one cluster: one per resource and scope, however many parts need it . */
import { ApiError, type Clock, isForbidden, type KubeClient, type Random, type Scope } from "@klutch/kube";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import type { Logger } from "@klutch/telemetry";
import { Informer, type InformerOptions, type InformerStatus } from "./informer.ts";
import type { Cached } from "./store.ts";
import { PayloadCache } from "./payload.ts";
import { WeightBudget } from "./weight.ts";
import {
  type DigestedObject,
  digestPolicy,
  type DigestRules,
  type ObjectDigest,
  withoutManagedFields,
} from "./digested-object.ts";
import { type CachePolicy, ReadYourWritesCache } from "./read-your-writes-cache.ts";

/** The objects that a cache holds. */
export interface CacheScope extends Scope {
  readonly type: ResourceType;
  /** Only metadata is fetched. Default false. */
  readonly metadataOnly?: boolean | undefined;
  /** Limit of objects. Default: that of the pool. */
  readonly maxObjects?: number | undefined;
  /** Selects the objects whose payload is kept; others stay out of memory. Default all. */
  readonly payloadOf?:
    | { readonly key: string; readonly wants: (object: DynamicObject) => boolean }
    | undefined;
}

/** The right to use a cache; disposing the last one stops its watch. */
export interface InformerHandle<T extends Cached = DynamicObject> extends AsyncDisposable {
  readonly cache: ReadYourWritesCache<T>;
}

/** A cache whose server answers with errors. */
export interface CacheFailure {
  /** `<plural>.<group>`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly error: unknown;
}

/** Options of a pool. */
export interface CachePoolOptions {
  readonly client: KubeClient;
  /** Limit of objects of one scope. Default: none. */
  readonly maxObjects?: number | undefined;
  /** Limit of the memory that whole objects of all scopes may take, in bytes. Default: none. */
  readonly maxWeight?: number | undefined;
  /** Called with the scopes that have too many objects; undefined when none has any longer. */
  readonly onLimit?: ((message: string | undefined) => void) | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
}

/** Every cache has this index. */
const byNamespace = "namespace";
const refusedCheckMs = 3_000;
/** After an outage the other caches follow the first one that gets through within this time, each at a random moment of it. */
const followWithinMs = 2_000;
/** A server that answers and fails in turn is not asked more often for it. */
const followEveryMs = 10_000;

interface Entry<T extends Cached> {
  readonly cache: ReadYourWritesCache<T>;
  readonly scope: CacheScope;
  /** The refusal that `checkRights` met, although the watch goes on. */
  refused?: Pick<CacheFailure, "since" | "error"> | undefined;
  users: number;
}

/** Starts caches when they are first needed and stops them when they are no longer needed. `D` is the digest of `acquireDigested`. */
export class CachePool<D extends ObjectDigest = ObjectDigest> implements AsyncDisposable {
  readonly #options: CachePoolOptions;
  readonly #caches = new Map<string, Entry<DynamicObject>>();
  readonly #digested = new Map<string, Entry<DigestedObject<D>>>();
  readonly #payloads = new PayloadCache();
  readonly #budget: WeightBudget | undefined;
  readonly #backHandlers = new Set<() => void>();
  /** Messages of the full caches, by scope. */
  readonly #full = new Map<string, string>();
  #checkedAt = Number.NEGATIVE_INFINITY;
  #followedAt = Number.NEGATIVE_INFINITY;

  constructor(options: CachePoolOptions) {
    this.#options = options;
    this.#budget = options.maxWeight === undefined ? undefined : new WeightBudget(options.maxWeight);
  }

  /** The cache of this scope with whole objects, started if it is new. It may not be synced yet. */
  acquire(scope: CacheScope): InformerHandle {
    const { payloadOf } = scope;
    const keep = (object: DynamicObject): DynamicObject =>
      withoutManagedFields(payloadOf?.wants(object) === false ? withoutPayload(object) : object);
    const policy = { transform: keep, onLocalWrite: keep, onEvict: () => {} };
    return this.#handle(this.#caches, scope, policy, this.#budget);
  }

  /** As `acquire`, but of the objects only digests stay in memory. Those who share a scope share the rules of the first of them. */
  acquireDigested(scope: CacheScope, rules: DigestRules<D>): InformerHandle<DigestedObject<D>> {
    return this.#handle(this.#digested, scope, digestPolicy(this.#payloads, rules));
  }

  /** Number of watches. */
  get size(): number {
    return this.#caches.size + this.#digested.size;
  }

  /** Names of the caches that are not synced, or of which nothing was heard for too long. */
  problems(): string[] {
    return [...this.#caches, ...this.#digested]
      .filter(([, { cache }]) => !cache.informer.synced || cache.informer.status().stale)
      .map(([key]) => key);
  }

  /** Returns the number of objects of synced resources in a namespace; undefined while a cache of it is not filled. */
  countDigested(namespace: string): number | undefined {
    const covering = [...this.#digested.values()].filter(
      ({ scope }) => scope.namespace === undefined || scope.namespace === namespace,
    );
    // An unwatched namespace, while others are watched, may hold anything.
    if (covering.length === 0 && this.#digested.size > 0) return undefined;
    if (covering.some(({ cache }) => !cache.informer.synced)) return undefined;
    return covering.reduce((sum, { cache }) => sum + [...objectsIn(cache, namespace)].length, 0);
  }

  /**
   * Asks for one object of each digested scope. A server goes on with a watch whose right was taken away until it ends, which takes minutes;
   * this shows it among the failures at once. Does nothing within `everyMs` of the last time, or of 3 seconds while one is refused.
   */
  async checkRights(everyMs: number, signal: AbortSignal): Promise<void> {
    const { clock, client } = this.#options;
    const entries = [...this.#digested.values()];
    const isRefused = entries.some(({ refused }) => refused !== undefined);
    const now = clock.monotonic();
    if (now - this.#checkedAt < (isRefused ? Math.min(everyMs, refusedCheckMs) : everyMs)) return;
    this.#checkedAt = now;
    for (const entry of entries) {
      const { type, namespace } = entry.scope;
      try {
        await client.list(type, { namespace, limit: 1, metadataOnly: true, signal });
        entry.refused = undefined;
      } catch (error) {
        if (isForbidden(error)) entry.refused = { since: entry.refused?.since ?? clock.monotonic(), error };
      }
    }
  }

  /** The caches that every attempt to list or to watch fails for, or that may not be listed any more. */
  failures(): readonly CacheFailure[] {
    return this.#entries.flatMap(({ cache, scope, refused }) => {
      const { failingSince, lastError } = cache.informer.status();
      const { since, error } = refused ?? { since: failingSince, error: lastError };
      if (since === undefined) return [];
      const { group, plural } = scope.type;
      const resource = group === "" ? plural : `${plural}.${group}`;
      return [{ resource, namespace: scope.namespace, since, error }];
    });
  }

  /** Calls `handler` when the first cache gets through after an outage; at most once in ten seconds. */
  onBack(handler: () => void): Disposable {
    this.#backHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#backHandlers.delete(handler) };
  }

  /** Caches that wait after a failure try again at once. */
  retryNow(): void {
    for (const { cache } of this.#entries)
      if (cache.informer.status().failingSince !== undefined) cache.informer.retryNow();
  }

  get #entries(): readonly (Entry<DynamicObject> | Entry<DigestedObject<D>>)[] {
    return [...this.#caches.values(), ...this.#digested.values()];
  }

  /** A server that answers one cache again is there for the others, which may have half a minute to wait. */
  #follow(): void {
    const { clock, random } = this.#options;
    const now = clock.monotonic();
    if (now - this.#followedAt < followEveryMs) return;
    this.#followedAt = now;
    const cutOff = this.#entries.filter(({ cache }) => isCutOff(cache.informer.status()));
    for (const { cache } of cutOff)
      clock.schedule(random() * followWithinMs, () => {
        if (isCutOff(cache.informer.status())) cache.informer.retryNow();
      });
    for (const handler of this.#backHandlers) handler();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const caches = this.#entries;
    this.#caches.clear();
    this.#digested.clear();
    await Promise.all(caches.map(({ cache }) => cache[Symbol.asyncDispose]()));
  }

  #handle<T extends Cached>(
    entries: Map<string, Entry<T>>,
    scope: CacheScope,
    policy: CachePolicy<T>,
    budget?: WeightBudget,
  ): InformerHandle<T> {
    const key = keyOfScope(scope);
    const entry = entries.get(key) ?? { cache: this.#start(scope, policy, budget), scope, users: 0 };
    entry.users++;
    entries.set(key, entry);
    let isReleased = false;
    return {
      cache: entry.cache,
      [Symbol.asyncDispose]: async () => {
        if (isReleased) return;
        isReleased = true;
        entry.users--;
        if (entry.users > 0) return;
        entries.delete(key);
        await entry.cache[Symbol.asyncDispose]();
      },
    };
  }

  #start<T extends Cached>(
    scope: CacheScope,
    policy: CachePolicy<T>,
    budget: WeightBudget | undefined,
  ): ReadYourWritesCache<T> {
    const { client, logger, clock, random } = this.#options;
    const indexes = { [byNamespace]: (object: T) => [object.metadata.namespace ?? ""] };
    const { payloadOf: _payloadOf, maxObjects: _maxObjects, ...watched } = scope;
    const cache = new ReadYourWritesCache<T>(
      (transform) =>
        new Informer<T>({
          ...watched,
          client,
          transform,
          indexes,
          rereads: isCustom(scope.type),
          isSame: policy.isSame,
          ...this.#limitsOf(scope),
          onRecovered: () => this.#follow(),
          budget,
          logger,
          clock,
          random,
        }),
      policy,
    );
    cache.informer.start();
    return cache;
  }

  #limitsOf(scope: CacheScope): Pick<InformerOptions<Cached>, "maxObjects" | "onLimit"> {
    const { onLimit } = this.#options;
    const maxObjects = scope.maxObjects ?? this.#options.maxObjects;
    if (maxObjects === undefined) return {};
    const key = keyOfScope(scope);
    return {
      maxObjects,
      onLimit: (error) => {
        if (error === undefined) this.#full.delete(key);
        else this.#full.set(key, `${scope.namespace ?? "(all namespaces)"}: ${error.message}`);
        onLimit?.(this.#full.size === 0 ? undefined : [...this.#full.values()].slice(0, 3).join("; "));
      },
    };
  }
}

/** Returns true if each attempt fails, for a reason that all caches of the server have in common. */
function isCutOff({ failingSince, lastError }: InformerStatus): boolean {
  if (failingSince === undefined) return false;
  return !(lastError instanceof ApiError) || lastError.status >= 500;
}

/** Lists the objects of one namespace in a pool's cache; of all namespaces when it is undefined. */
export function objectsIn<T extends Cached>(
  { informer }: ReadYourWritesCache<T>,
  namespace: string | undefined,
): Iterable<T> {
  return namespace === undefined ? informer.list() : informer.byIndex(byNamespace, namespace);
}

/** The object without what Secrets and ConfigMaps are made for. */
function withoutPayload(object: DynamicObject): DynamicObject {
  const { data: _data, binaryData: _binaryData, stringData: _stringData, ...rest } = object;
  return rest;
}

/** Returns true if the resource comes from a CustomResourceDefinition, whose schema may change while it is served. */
function isCustom({ group }: ResourceType): boolean {
  return group.includes(".") && !group.endsWith(".k8s.io");
}

function keyOfScope(scope: CacheScope): string {
  const { type, namespace = "*", labelSelector = "", fieldSelector = "", metadataOnly = false } = scope;
  const payload = scope.payloadOf?.key ?? "";
  const selector = [labelSelector, fieldSelector, metadataOnly ? "metadata" : "", payload].filter(
    (part) => part !== "",
  );
  return [`${type.plural}.${type.group}/${type.version}`, namespace, ...selector].join(" ");
}
