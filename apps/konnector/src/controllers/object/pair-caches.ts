/** The caches of both clusters for one bound resource, and which change wakes which pair. */
import { keyOf, keyOfRef, type ObjectRef, refOf } from "@klutch/kube-core";
import {
  type Change,
  type InformerHandle,
  objectsIn,
  type Priority,
  type ReadYourWritesCache,
  type WakeReason,
} from "@klutch/kube-runtime";
import { isBound, isMarked, type UnbindPolicy, upstreamNamesOf } from "@klutch/sync";
import { type BoundDigest, consumerDigests, providerDigests } from "../../digests.ts";
import type { SecretOfClaim } from "../claimed-resource/secret-causes.ts";
import { MultiNamespaceInformer } from "../service-namespace/multi-namespace-informer.ts";
import type { BoundCaches, BoundResource } from "./bound-resource.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import { PairPlaces } from "./pair-places.ts";

type Enqueue = (key: string, priority: Priority, reason: WakeReason) => void;

/** Follows both clusters from construction until it is disposed, and enqueues the pairs that changes concern. */
export class PairCaches implements BoundCaches, AsyncDisposable {
  readonly #bound: BoundResource;
  readonly #enqueue: Enqueue;
  readonly #handle: InformerHandle<BoundDigest>;
  readonly providerInformer: MultiNamespaceInformer<BoundDigest>;
  readonly places: PairPlaces;
  /** Keys whose upstream object was seen to be deleted, until the claim is gone, too. */
  readonly #gone = new Set<string>();
  /** Number of claims that are not being deleted, for the breaker. */
  #alive = 0;
  readonly #subscriptions = new DisposableStack();

  constructor(bound: BoundResource, enqueue: Enqueue) {
    const { type, providerType, consumer, provider, namespaces, runtime, clusterWide, view } = bound;
    this.#bound = bound;
    this.#enqueue = enqueue;
    const isInside = type.namespaced !== providerType.namespaced;
    this.#handle = consumer.pool.acquireDigested({ type }, consumerDigests(view));
    this.places = new PairPlaces(bound, {
      claims: this.claims,
      // The informer calls back before its constructor returns.
      providerInformer: {
        get: (ref) => this.providerInformer.get(ref),
        isSynced: (namespace) => this.providerInformer.isSynced(namespace),
      },
    });
    this.providerInformer = new MultiNamespaceInformer({
      open: (scope) => provider.pool.acquireDigested(scope, providerDigests(view)),
      type: providerType,
      clusterWide: !isInside && (clusterWide || !type.namespaced),
      onlyNamespace: isInside ? provider.tenant.namespace : undefined,
      namespaces,
      versions: bound.creations,
      logger: runtime.logger,
      onChange: (change, priority, reason) => this.#providerChanged(change, priority, reason),
      // Cluster-scoped pairs are decided only when all objects are known.
      onSynced: (namespace) =>
        type.namespaced ? this.#wakeAbsent(namespace) : this.wakeAll(wakeReasons.providerFilled),
    });
    const { informer } = this.claims;
    this.#subscriptions.use(namespaces.inhabit(informer));
    this.#subscriptions.use(
      informer.onChange((change, isInInitialList) => this.#consumerChanged(change, isInInitialList)),
    );
    this.#subscriptions.use(
      this.claims.onMissedDelete((key) => enqueue(key, "normal", wakeReasons.consumerVanished)),
    );
    this.#subscriptions.use(bound.takenSecrets.onChange((key) => this.#wakeUsersOf(refOf(key))));
    if (type.namespaced) this.#subscriptions.use(bound.secretCauses.use((secret) => this.#causesOf(secret)));
    if (type.namespaced)
      this.#subscriptions.use(
        namespaces.onChange((namespace) => this.#wakeClaims(namespace, wakeReasons.namespaceMapped)),
      );
  }

  get claims(): ReadYourWritesCache<BoundDigest> {
    return this.#handle.cache;
  }

  /** Enqueues all pairs, because something that they all depend on has changed. */
  wakeAll(reason: WakeReason): void {
    this.#wakeClaims(undefined, reason);
    for (const object of this.providerInformer.objects())
      for (const key of this.places.claimKeysOf(object)) this.#enqueue(key, "low", reason);
  }

  /** Returns true if the provider itself showed that the claim's upstream object is gone, and has shown no other since. */
  wasSeenGoing(ref: ObjectRef): boolean {
    return this.#gone.has(keyOfRef(ref));
  }

  /** Forgets a pair whose objects are both gone. */
  forget(key: string): void {
    this.#gone.delete(key);
  }

  /** Returns the number of this tenant's upstream objects, as far as the caches are filled. */
  upstreamCount(): number {
    let count = 0;
    for (const object of this.providerInformer.objects())
      if (this.places.claimKeysOf(object).length > 0) count++;
    return count;
  }

  /** Returns the number of objects that unbinding has not finished with; undefined until the caches are filled. */
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

  /** Lets a person's change overtake; not the first list and our own marks. */
  #consumerChanged(change: Change<BoundDigest>, isInInitialList: boolean): void {
    const { type, provider, breaker } = this.#bound;
    this.#alive += livingDifference(change);
    breaker.setAlive(this.#alive);
    if (change.type === "deleted" && !type.namespaced)
      // Its upstream object may now belong to another claim, by its name.
      for (const name of upstreamNamesOf(provider.tenant, change.key))
        this.#enqueue(name, "normal", wakeReasons.nameReleased);
    if (isInInitialList) this.#enqueue(change.key, "low", wakeReasons.consumerListed);
    else this.#enqueue(change.key, isUserEdit(change) ? "high" : "normal", wakeReasons.consumerChanged);
  }

  #providerChanged({ type, object }: Change<BoundDigest>, priority: Priority, reason: WakeReason): void {
    const keys = this.places.claimKeysOf(object);
    if (type !== "updated") this.#bound.limit.counted();
    const gone = type === "deleted" ? this.places.keyOf(object) : undefined;
    for (const key of keys) {
      if (key === gone) this.#gone.add(key);
      else this.#gone.delete(key);
      this.#enqueue(key, priority, reason);
    }
    // Another tenant's object: it is never reconciled here.
    if (keys.length === 0) object.payload.drop();
  }

  #wakeClaims(consumerNamespace: string | undefined, reason: WakeReason): void {
    for (const claim of objectsIn(this.claims, consumerNamespace)) this.#enqueue(keyOf(claim), "low", reason);
  }

  /** Enqueues the claims whose credentials are to be in this Secret. */
  #wakeUsersOf({ namespace, name }: ObjectRef): void {
    if (!this.#bound.type.namespaced) return;
    for (const claim of objectsIn(this.claims, namespace)) {
      const key = keyOf(claim);
      if (this.places.find(key)?.provider?.secret === name)
        this.#enqueue(key, "normal", wakeReasons.nameTaken);
    }
  }

  /** Returns the contexts of the traces of the claims whose credentials are in this Secret. */
  *#causesOf({ ref: { namespace, name }, owners }: SecretOfClaim): Generator<string> {
    for (const claim of objectsIn(this.claims, namespace)) {
      const upstream = this.places.find(keyOf(claim))?.provider;
      if (upstream?.cause === undefined) continue;
      if (upstream.secret === name || owners.has(upstream.metadata.uid ?? "")) yield upstream.cause;
    }
  }

  /** Enqueues the claims whose upstream object a filled cache lacks: it is absent from now on. The others were enqueued by their events. */
  #wakeAbsent(consumerNamespace: string | undefined): void {
    for (const claim of objectsIn(this.claims, consumerNamespace)) {
      const key = keyOf(claim);
      if (this.places.find(key)?.provider === undefined)
        this.#enqueue(key, "low", wakeReasons.providerAbsent);
    }
  }
}

/** Returns by how much a change moves the number of living claims. */
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

/** Returns true if a user changed the claim: our marks and the status leave the generation as it is. */
function isUserEdit(change: Change<BoundDigest>): boolean {
  if (change.type !== "updated") return true;
  const [now, before] = [change.object.metadata, change.previous.metadata];
  return now.generation !== before.generation || now.deletionTimestamp !== before.deletionTimestamp;
}
