/**
 * One resource of the provider, as far as this tenant may see it: one cache for the whole cluster, or one for each service namespace
 * as the export's `informerScope` says. A mapping that disappears just releases its cache.
 */
import { type DynamicObject, keyOf, keyOfRef, type ObjectRef, type ResourceType } from "@klutch/kube-core";
import {
  type Cached,
  type CacheScope,
  type Change,
  type InformerHandle,
  objectsIn,
  type Priority,
  type ReadYourWritesCache,
  type WakeReason,
} from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { wakeReasons } from "../../wake-reasons.ts";
import type { NamespaceMappings } from "./namespace-mappings.ts";

/** Options of a multi-namespace informer. */
export interface MultiNamespaceInformerOptions<T extends Cached> {
  /** Opens a cache of the provider. */
  readonly open: (scope: CacheScope) => InformerHandle<T>;
  readonly type: ResourceType;
  readonly clusterWide: boolean;
  /** Watch just this provider namespace (isolation Namespaced). */
  readonly onlyNamespace?: string | undefined;
  readonly namespaces: NamespaceMappings;
  readonly logger: Logger;
  /**
   * Called with each change; also when an object is gone that only our own write had shown, and again with existing objects when their
   * namespace is mapped or opened. Objects that existed before have priority `low`.
   */
  readonly onChange: (change: Change<T>, priority: Priority, reason: WakeReason) => void;
  /** Takes the versions of the provider's lists (creation-hold.ts). Default: no one does. */
  readonly versions?: SeenVersions | undefined;
  /** Called when a cache is filled: objects that it lacks are absent from then on. Undefined for the whole cluster. */
  readonly onSynced: (consumerNamespace: string | undefined) => void;
}

/** Takes versions of the resource. */
export interface SeenVersions {
  /** The highest that was seen. */
  readonly highest: string | undefined;
  /** Number of restores that were noticed. */
  readonly restores: number;
  saw(version: string | undefined): void;
  listed(version: string, before: string | undefined): void;
}

interface Part<T extends Cached> {
  readonly handle: InformerHandle<T>;
  readonly subscription: DisposableStack;
  readonly providerNamespace: string | undefined;
  /** The number of restores when its cache was last listed. */
  restores: number;
}

const wholeCluster = "";

/** Follows one resource in the tenant's namespaces. An object that it lacks may exist: ask `isSynced` first. */
export class MultiNamespaceInformer<T extends Cached> implements AsyncDisposable {
  readonly #options: MultiNamespaceInformerOptions<T>;
  /** By consumer namespace. */
  readonly #parts = new Map<string, Part<T>>();
  readonly #closing = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  #subscription: Disposable | undefined;

  constructor(options: MultiNamespaceInformerOptions<T>) {
    this.#options = options;
    if (this.#isSingle) {
      this.#open(wholeCluster, options.onlyNamespace);
      this.#subscription = options.namespaces.onChange((namespace) => this.#showAgain(namespace));
      return;
    }
    this.#subscription = options.namespaces.onChange((namespace) => this.#follow(namespace));
    for (const [namespace] of options.namespaces.ready()) this.#follow(namespace);
  }

  /** Returns true if an object that the cache of this provider namespace lacks is absent. */
  isSynced(providerNamespace: string | undefined): boolean {
    return this.#cacheOf(providerNamespace)?.informer.synced === true;
  }

  /** Returns true if every part is filled. */
  isComplete(): boolean {
    return this.#parts.values().every(({ handle }) => handle.cache.informer.synced);
  }

  get(ref: ObjectRef): T | undefined {
    return this.#cacheOf(ref.namespace)?.get(keyOfRef(ref));
  }

  /** Tells the versions that the caches have reached, bookmarks included. */
  noteVersions(): void {
    for (const part of this.#parts.values()) this.#note(part);
  }

  /** Remembers what a write of ours answered. */
  wrote(object: DynamicObject): void {
    this.#cacheOf(object.metadata.namespace)?.wrote(object);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the informer was closed"));
    this.#subscription?.[Symbol.dispose]();
    for (const namespace of this.#parts.keys()) this.#close(namespace);
    await Promise.all(this.#closing);
  }

  /** All objects that are seen now. */
  *objects(): IterableIterator<T> {
    for (const { handle } of this.#parts.values()) yield* objectsIn(handle.cache, undefined);
  }

  get #isSingle(): boolean {
    return this.#options.clusterWide || this.#options.onlyNamespace !== undefined;
  }

  #cacheOf(providerNamespace: string | undefined): ReadYourWritesCache<T> | undefined {
    if (this.#isSingle) return this.#parts.get(wholeCluster)?.handle.cache;
    const consumerNamespace = this.#options.namespaces.consumerNamespaceOf(providerNamespace ?? "");
    return consumerNamespace === undefined ? undefined : this.#parts.get(consumerNamespace)?.handle.cache;
  }

  /** Shows existing objects again: those that came before their namespace was known or open could not be copied. */
  #showAgain(consumerNamespace: string): void {
    const providerNamespace = this.#options.namespaces.providerNamespaceOf(consumerNamespace);
    const part = this.#parts.get(this.#isSingle ? wholeCluster : consumerNamespace);
    if (providerNamespace === undefined || part === undefined) return;
    for (const object of objectsIn(part.handle.cache, providerNamespace))
      this.#options.onChange(
        { type: "added", key: keyOf(object), object },
        "low",
        wakeReasons.namespaceMapped,
      );
  }

  #follow(consumerNamespace: string): void {
    const wanted = this.#options.namespaces.providerNamespaceOf(consumerNamespace);
    const part = this.#parts.get(consumerNamespace);
    if (part?.providerNamespace === wanted) {
      this.#showAgain(consumerNamespace);
      return;
    }
    if (part !== undefined) this.#close(consumerNamespace);
    if (wanted !== undefined) this.#open(consumerNamespace, wanted);
  }

  #open(key: string, providerNamespace: string | undefined): void {
    const { open, type, onChange, onSynced, logger } = this.#options;
    const handle = open({ type, namespace: providerNamespace });
    const subscription = new DisposableStack();
    subscription.use(
      handle.cache.informer.onChange((change, isInInitialList) =>
        isInInitialList
          ? onChange(change, "low", wakeReasons.providerListed)
          : onChange(change, "normal", wakeReasons.providerChanged),
      ),
    );
    subscription.use(
      handle.cache.onMissedDelete((vanished, object) =>
        onChange({ type: "deleted", key: vanished, object }, "normal", wakeReasons.providerVanished),
      ),
    );
    this.#parts.set(key, this.#judged({ handle, subscription, providerNamespace, restores: 0 }));
    handle.cache.informer.whenSynced({ signal: this.#abort.signal }).then(
      () => onSynced(key === wholeCluster ? undefined : key),
      (error: unknown) => logger.debug("a provider cache was closed before it was filled", { error }),
    );
  }

  /** Judges the versions of the part's lists. Those from before a restore that was noticed already do not show another one. */
  #judged(part: Part<T>): Part<T> {
    const { versions } = this.#options;
    if (versions === undefined) return part;
    this.noteVersions();
    const known = versions.highest;
    part.restores = versions.restores;
    part.subscription.use(
      part.handle.cache.informer.onListed((version, before) => {
        const isOld = part.restores !== versions.restores;
        versions.listed(version, isOld ? undefined : before === "" ? known : before);
        part.restores = versions.restores;
      }),
    );
    return part;
  }

  #note({ handle, restores }: Part<T>): void {
    const { versions } = this.#options;
    if (restores === versions?.restores) versions.saw(handle.cache.informer.status().resourceVersion);
  }

  #close(key: string): void {
    const part = this.#parts.get(key);
    if (part === undefined) return;
    this.#note(part);
    this.#parts.delete(key);
    part.subscription[Symbol.dispose]();
    const closed = Promise.resolve(part.handle[Symbol.asyncDispose]()).catch((error: unknown) =>
      this.#options.logger.warn("a provider cache could not be closed", { error }),
    );
    this.#closing.add(closed);
    void closed.finally(() => this.#closing.delete(closed));
  }
}
