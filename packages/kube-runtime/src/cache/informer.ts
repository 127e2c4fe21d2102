/** A cache of one resource in one scope of one cluster, kept current by a watcher and shared by all who need it. */
import {
  type Clock,
  isNotFound,
  type KubeClient,
  type Random,
  type Scope,
  systemClock,
  systemRandom,
} from "@klutch/kube";
import { type DynamicObject, keyOf, type ResourceType } from "@klutch/kube-core";
import { type Logger, silentLogger } from "@klutch/telemetry";
import { TooManyObjectsError } from "../errors.ts";
import { type Cached, type Change, type Indexer, Store } from "./store.ts";
import { heaviest, mostLevels, type WeightBudget } from "./weight.ts";
import { runWatcher, type WatchSink } from "../watch/watcher.ts";

/** Options of an informer. */
export interface InformerOptions<T extends Cached> extends Scope {
  readonly client: KubeClient;
  readonly type: ResourceType;
  /** Only metadata is fetched and kept. Default false. */
  readonly metadataOnly?: boolean | undefined;
  /** Makes the kept form of an object. Default: all but `managedFields`. */
  readonly transform?: ((object: DynamicObject) => T) | undefined;
  readonly indexes?: Readonly<Record<string, Indexer<T>>> | undefined;
  /** The kind may not be served: then the cache is empty and counts as filled until it is. Default false. */
  readonly mayBeAbsent?: boolean | undefined;
  /** The kind's schema may change: objects that were read during the change are read again. Default false. */
  readonly rereads?: boolean | undefined;
  /** Limit of objects; later ones are left out. Default: no limit. */
  readonly maxObjects?: number | undefined;
  /** Memory that it shares with other caches; objects beyond it are left out. Default: no limit. */
  readonly budget?: WeightBudget | undefined;
  /** Called when objects begin to be left out, and when a list has shown that none have to be any more. */
  readonly onLimit?: ((error: TooManyObjectsError | undefined) => void) | undefined;
  /** Called when an attempt succeeds after others failed. */
  readonly onRecovered?: (() => void) | undefined;
  /** Returns true if an object that was read again is unchanged. Default: only when it is the same JSON. */
  readonly isSame?: ((previous: T, reread: T) => boolean) | undefined;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** Time for which the watch may be silent before it is replaced. Default 90 000. */
  readonly idleTimeoutMs?: number | undefined;
}

/** State of a cache's connection. */
export interface InformerStatus {
  readonly synced: boolean;
  /** Monotonic milliseconds of the last sign of life; 0 before the first. */
  readonly lastEventAt: number;
  /** No sign of life for twice the idle limit: what the cache says may be old. */
  readonly stale: boolean;
  readonly lastError: unknown;
  /** Monotonic milliseconds since when every attempt fails; undefined while the connection lives. */
  readonly failingSince: number | undefined;
  readonly resourceVersion: string;
}

/** `isInInitialList`: the first list shows it, or it was cached before the handler came. */
export type ChangeHandler<T> = (change: Change<T>, isInInitialList: boolean) => void;

/** `before`: the version of the cache until the list was complete; empty for the first list. */
export type ListHandler = (resourceVersion: string, before: string) => void;

/**
 * Serves what it read last, also while the server cannot be reached; `synced` says that the first list is there. Handlers run
 * synchronously inside the watch loop and must only enqueue.
 */
export class Informer<T extends Cached> implements AsyncDisposable {
  readonly type: ResourceType;
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #store: Store<T>;
  readonly #handlers = new Set<ChangeHandler<T>>();
  readonly #listHandlers = new Set<ListHandler>();
  readonly #synced = Promise.withResolvers<void>();
  readonly #abort = new AbortController();
  /** Ends the wait for the next attempt. */
  #wake = new AbortController();
  #running: Promise<void> | undefined;
  #isSynced = false;
  /** The kind is not served, and was not since the start. */
  #isAbsent = false;
  #lastEventAt = 0;
  #lastError: unknown;
  #failingSince: number | undefined;
  /** Objects were left out, and no list since then was short enough. */
  #isFull = false;
  #resourceVersion = "";

  constructor(options: InformerOptions<T>) {
    this.type = options.type;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = (options.logger ?? silentLogger).child({
      resource: options.type.plural,
      cluster: options.client.clusterName,
    });
    const { transform, indexes, isSame, budget } = options;
    const onChange = (change: Change<T>): void => this.#notify(change);
    const mayAdd = (size: number): boolean => this.#mayAdd(size);
    const onTooHeavy = (key: string, weight: number): void => this.#reportTooHeavy(key, weight);
    this.#store = new Store<T>({ transform, indexes, isSame, mayAdd, onChange, budget, onTooHeavy });
    // There may be no waiter when the informer is disposed before its first list.
    this.#synced.promise.catch(() => undefined);
  }

  get size(): number {
    return this.#store.size;
  }

  get synced(): boolean {
    return this.#isSynced;
  }

  /** Starts the watch; runs until the signal aborts or the informer is disposed. A second call does nothing. */
  start(options: { readonly signal?: AbortSignal | undefined } = {}): void {
    if (this.#running !== undefined) return;
    const signals = [this.#abort.signal, options.signal].filter((signal) => signal !== undefined);
    const signal = AbortSignal.any(signals);
    const { client, type, namespace, labelSelector, fieldSelector, metadataOnly, idleTimeoutMs, rereads } =
      this.#options;
    this.#running = runWatcher<DynamicObject>({
      client,
      type,
      namespace,
      labelSelector,
      fieldSelector,
      metadataOnly,
      idleTimeoutMs,
      rereads,
      pause: (waitMs, until) => this.#pause(waitMs, until),
      sink: this.#sink(),
      clock: this.#clock,
      random: this.#options.random ?? systemRandom,
      signal,
    });
  }

  /** Ends a wait after a failure, because what it failed for may be over. While there is none, the next one is skipped. */
  retryNow(): void {
    this.#wake.abort(new Error("there is reason to try again"));
  }

  /** Resolves after the first complete list. */
  async whenSynced(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (options.signal === undefined) return this.#synced.promise;
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void =>
      reject(new Error(`stopped waiting for the cache of ${this.type.plural}`, { cause: this.#lastError }));
    if (options.signal.aborted) onAbort();
    options.signal.addEventListener("abort", onAbort, { once: true });
    try {
      await Promise.race([this.#synced.promise, promise]);
    } finally {
      options.signal.removeEventListener("abort", onAbort);
    }
  }

  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): IterableIterator<T> {
    return this.#store.values();
  }

  byIndex(index: string, value: string): readonly T[] {
    return this.#store.byIndex(index, value);
  }

  /** Calls `handler` for each change from now on; cached objects come first, as added. */
  onChange(handler: ChangeHandler<T>): Disposable {
    this.#handlers.add(handler);
    for (const object of this.#store.values()) handler({ type: "added", key: keyOf(object), object }, true);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  /** Calls `handler` with the version of each complete list: what the cache shows from then on is at least as new. */
  onListed(handler: ListHandler): Disposable {
    this.#listHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#listHandlers.delete(handler) };
  }

  status(): InformerStatus {
    const limitMs = 2 * (this.#options.idleTimeoutMs ?? 90_000);
    return {
      synced: this.#isSynced,
      lastEventAt: this.#lastEventAt,
      stale: this.#isSynced && this.#clock.monotonic() - this.#lastEventAt > limitMs,
      lastError: this.#lastError,
      failingSince: this.#failingSince,
      resourceVersion: this.#resourceVersion,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error(`the cache of ${this.type.plural} was closed`));
    this.#handlers.clear();
    this.#listHandlers.clear();
    await this.#running;
    this.#store.dispose();
    this.#synced.reject(new Error(`the cache of ${this.type.plural} was closed`));
  }

  async #pause(waitMs: number, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#wake.signal]);
    await this.#clock.sleep(waitMs, { signal: either }).catch(() => undefined);
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
  }

  #sink(): WatchSink<DynamicObject> {
    return {
      apply: (object, isReread) => this.#apply(object, isReread),
      delete: (object) => this.#store.delete(keyOf(object)),
      replace: (keys, resourceVersion, isWhole) => this.#replace(keys, resourceVersion, isWhole),
      progress: (resourceVersion) => this.#progress(resourceVersion),
      opened: () => this.#lives(),
      failed: (error) => {
        this.#lastError = error;
        if (this.#isKindAbsent(error)) return;
        this.#failingSince ??= this.#clock.monotonic();
        this.#logger.warn("watch interrupted, resuming", { error });
      },
    };
  }

  /** An object of which no form can be kept, such as one that is nested too deep, must not take all others away. */
  #apply(object: DynamicObject, isReread: boolean): boolean {
    try {
      return this.#store.apply(object, isReread);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#logger.warn("an object cannot be read and is left out", { key: keyOf(object), error });
      return false;
    }
  }

  #replace(keys: ReadonlySet<string>, resourceVersion: string, isWhole: boolean): void {
    const gone = Array.from(this.#store.keys()).filter((key) => !keys.has(key));
    for (const key of gone) this.#store.delete(key);
    const before = this.#resourceVersion;
    this.#progress(resourceVersion);
    if (this.#isFull && isWhole) {
      this.#isFull = false;
      this.#options.onLimit?.(undefined);
    }
    for (const handler of this.#listHandlers) handler(resourceVersion, before);
    if (this.#isAbsent) this.#logger.info("the kind is served now");
    this.#isAbsent = false;
    this.#becomeSynced();
  }

  #becomeSynced(): void {
    if (this.#isSynced) return;
    this.#isSynced = true;
    this.#synced.resolve();
  }

  /** Returns true if the kind was never served. A kind that was served before may come back, and its objects with it. */
  #isKindAbsent(error: unknown): boolean {
    const { mayBeAbsent = false, type } = this.#options;
    if (!mayBeAbsent || !isNotFound(error) || (this.#isSynced && !this.#isAbsent)) return false;
    this.#progress("");
    if (this.#isAbsent) return true;
    this.#isAbsent = true;
    this.#logger.warn("the kind is not served; going on without it until it is", { group: type.group });
    this.#becomeSynced();
    return true;
  }

  #mayAdd(size: number): boolean {
    const { maxObjects = Number.POSITIVE_INFINITY } = this.#options;
    if (size < maxObjects) return true;
    this.#reportFull(tooMany(maxObjects, this.#resource));
    return false;
  }

  #reportTooHeavy(key: string, weight: number): void {
    this.#reportFull(
      weight === Number.POSITIVE_INFINITY
        ? `${key} of ${this.#resource} takes more than ${mebibytes(heaviest)} MiB of memory, or is nested in more than ${mostLevels} levels, so it is left out`
        : tooMany(mebibytes(this.#options.budget?.limit ?? weight), `MiB of ${this.#resource}`),
    );
  }

  get #resource(): string {
    return `${this.type.plural}.${this.type.group}`;
  }

  #reportFull(message: string): void {
    if (this.#isFull) return;
    this.#isFull = true;
    const error = new TooManyObjectsError(message);
    this.#logger.warn("a cache is full", { error });
    this.#options.onLimit?.(error);
  }

  #progress(resourceVersion: string): void {
    this.#lastEventAt = this.#clock.monotonic();
    this.#lives();
    if (resourceVersion !== "") this.#resourceVersion = resourceVersion;
  }

  #lives(): void {
    if (this.#failingSince === undefined) return;
    this.#failingSince = undefined;
    this.#options.onRecovered?.();
  }

  #notify(change: Change<T>): void {
    for (const handler of this.#handlers) {
      try {
        handler(change, !this.#isSynced);
      } catch (error) {
        this.#logger.error("a change handler failed", { key: change.key, error });
      }
    }
  }
}

function tooMany(limit: number, resource: string): string {
  return `there are more than ${limit} ${resource}, and no more are taken; the others are left out`;
}

function mebibytes(bytes: number): number {
  return bytes / (1024 * 1024);
}
