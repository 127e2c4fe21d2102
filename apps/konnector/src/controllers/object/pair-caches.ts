/** The caches of both clusters for one bound resource, and which change wakes which pair. */
import { keyOf, keyOfRef, type ObjectRef, type ResourceType } from "@klutch/kube-core";
import {
  type Change,
  type InformerHandle,
  objectsIn,
  type Priority,
  type ReadYourWritesCache,
} from "@klutch/kube-runtime";
import {
  isBound,
  isMarked,
  type Isolation,
  type StatusView,
  type UnbindPolicy,
  upstreamNamesOf,
} from "@klutch/sync";
import type { ConsumerCluster, RuntimeDependencies, ProviderCluster } from "../../clusters.ts";
import { type BoundDigest, consumerDigests, providerDigests } from "../../digests.ts";
import type { NamespaceMappings } from "../service-namespace/namespace-mappings.ts";
import { MultiNamespaceInformer } from "../service-namespace/multi-namespace-informer.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import { PairPlaces } from "./pair-places.ts";

/** What to cache, and whom to wake. */
export interface PairCachesOptions {
  readonly type: ResourceType;
  readonly providerType: ResourceType;
  readonly isolation: Isolation;
  readonly view: StatusView;
  /** One watch on the provider instead of one for each service namespace. */
  readonly clusterWide: boolean;
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMappings;
  readonly breaker: DeletionBreaker;
  readonly runtime: RuntimeDependencies;
  readonly enqueue: (key: string, priority: Priority) => void;
}

/** Runs from construction until it is disposed. */
export class PairCaches implements AsyncDisposable {
  readonly #options: PairCachesOptions;
  readonly #handle: InformerHandle<BoundDigest>;
  readonly providerInformer: MultiNamespaceInformer<BoundDigest>;
  readonly places: PairPlaces;
  /** Keys whose upstream object was seen to go, until its claim is gone, too. */
  readonly #gone = new Set<string>();
  /** Claims that are not being deleted, for the breaker. */
  #alive = 0;
  readonly #subscriptions = new DisposableStack();

  constructor(options: PairCachesOptions) {
    const { type, providerType, consumer, provider, namespaces, runtime, clusterWide, enqueue } = options;
    this.#options = options;
    const isInside = type.namespaced !== providerType.namespaced;
    this.#handle = consumer.pool.acquireDigested({ type }, consumerDigests(options.view));
    this.places = new PairPlaces({
      ...options,
      consumerCache: this.claims,
      // The informer may show what it has before it is made.
      providerInformer: {
        get: (ref) => this.providerInformer.get(ref),
        isSynced: (namespace) => this.providerInformer.isSynced(namespace),
      },
    });
    this.providerInformer = new MultiNamespaceInformer({
      open: (scope) => provider.pool.acquireDigested(scope, providerDigests(options.view)),
      type: providerType,
      clusterWide: !isInside && (clusterWide || !type.namespaced),
      onlyNamespace: isInside ? provider.tenant.namespace : undefined,
      namespaces,
      logger: runtime.logger,
      onChange: (change, priority) => this.#providerChanged(change, priority),
      // Of cluster-scoped ones nothing is decided before everything is seen.
      onSynced: (namespace) => (type.namespaced ? this.#wakeAbsent(namespace) : this.wakeAll()),
    });
    const { informer } = this.claims;
    this.#subscriptions.use(namespaces.inhabit(informer));
    this.#subscriptions.use(
      informer.onChange((change, isInInitialList) => this.#consumerChanged(change, isInInitialList)),
    );
    this.#subscriptions.use(this.claims.onMissedDelete((key) => enqueue(key, "normal")));
    if (type.namespaced)
      this.#subscriptions.use(namespaces.onChange((namespace) => this.#wakeClaims(namespace)));
  }

  get claims(): ReadYourWritesCache<BoundDigest> {
    return this.#handle.cache;
  }

  /** Something that all pairs depend on has changed. */
  wakeAll(): void {
    this.#wakeClaims(undefined);
    for (const object of this.providerInformer.objects())
      for (const key of this.places.claimKeysOf(object)) this.#options.enqueue(key, "low");
  }

  /** Whether the provider itself showed that the upstream object of this claim is gone, and has not shown another since. */
  wasSeenGoing(ref: ObjectRef): boolean {
    return this.#gone.has(keyOfRef(ref));
  }

  /** Neither object of the pair is there any more. */
  forget(key: string): void {
    this.#gone.delete(key);
  }

  /** Objects that unbinding has not finished with; undefined while that cannot be known. */
  remaining(policy: UnbindPolicy): number | undefined {
    const { informer } = this.claims;
    if (!informer.synced || !this.providerInformer.isComplete()) return undefined;
    const claims = [...informer.list()].filter((object) => policy === "Delete" || isMarked(object));
    const upstream = [...this.providerInformer.objects()].filter(
      (object) => isBound(object) && this.places.claimKeysOf(object).length > 0,
    );
    return Math.max(claims.length, upstream.length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions.dispose();
    await this.providerInformer[Symbol.asyncDispose]();
    await this.#handle[Symbol.asyncDispose]();
  }

  /** What a person changed overtakes; the first list and our own marks do not. */
  #consumerChanged(change: Change<BoundDigest>, isInInitialList: boolean): void {
    const { type, provider, breaker, enqueue } = this.#options;
    this.#alive += livingDifference(change);
    breaker.setAlive(this.#alive);
    if (change.type === "deleted" && !type.namespaced)
      // What it leaves behind may now belong to another claim, by its name.
      for (const name of upstreamNamesOf(provider.tenant, change.key)) enqueue(name, "normal");
    enqueue(change.key, isInInitialList ? "low" : isUserEdit(change) ? "high" : "normal");
  }

  #providerChanged({ type, object }: Change<BoundDigest>, priority: Priority): void {
    const keys = this.places.claimKeysOf(object);
    const gone = type === "deleted" ? this.places.keyOf(object) : undefined;
    for (const key of keys) {
      if (key === gone) this.#gone.add(key);
      else this.#gone.delete(key);
      this.#options.enqueue(key, priority);
    }
    // Another tenant's: nobody will reconcile it.
    if (keys.length === 0) object.payload.drop();
  }

  #wakeClaims(consumerNamespace: string | undefined): void {
    for (const claim of objectsIn(this.claims, consumerNamespace)) this.#options.enqueue(keyOf(claim), "low");
  }

  /** What a filled cache does not show is absent from now on; what it shows was enqueued when it came. */
  #wakeAbsent(consumerNamespace: string | undefined): void {
    for (const claim of objectsIn(this.claims, consumerNamespace)) {
      const key = keyOf(claim);
      if (this.places.find(key)?.provider === undefined) this.#options.enqueue(key, "low");
    }
  }
}

/** By how much a change moves the number of claims that live. */
function livingDifference(change: Change<BoundDigest>): number {
  const lives = (object: BoundDigest): number => (object.metadata.deletionTimestamp === undefined ? 1 : 0);
  switch (change.type) {
    case "added":
      return lives(change.object);
    case "deleted":
      return -lives(change.object);
    case "updated":
      return lives(change.object) - lives(change.previous);
    default:
      return change satisfies never;
  }
}

/** Whether the change of a claim was made by its user: our marks and the status leave the generation as it is. */
function isUserEdit(change: Change<BoundDigest>): boolean {
  if (change.type !== "updated") return true;
  const [now, before] = [change.object.metadata, change.previous.metadata];
  return now.generation !== before.generation || now.deletionTimestamp !== before.deletionTimestamp;
}
