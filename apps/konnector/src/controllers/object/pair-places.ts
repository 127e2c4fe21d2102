/** Places of pairs: which two objects belong together, and where they are or will be, as the caches of both clusters show it. */
import { type ObjectRef, refOf } from "@klutch/kube-core";
import {
  claimNameOf,
  claimNamesOf,
  clusterScopedPlace,
  type ClusterScopedView,
  isBound,
  isSystemNamespace,
  type Mapping,
  providerRefOf,
  upstreamNamesOf,
} from "@klutch/sync";
import type { BoundDigest } from "../../digests.ts";
import type { BoundCaches, BoundResource } from "./bound-resource.ts";

/** A pair as the caches show it. */
export interface PlacedPair {
  readonly key: string;
  /** The claim's reference, also when the claim does not exist. */
  readonly ref: ObjectRef;
  /** As in sync's `ObservedPair`, like those that follow. */
  readonly target: ObjectRef | undefined;
  readonly unseen?: readonly ObjectRef[] | undefined;
  readonly isOthers?: boolean | undefined;
  readonly second?: ObjectRef | undefined;
  readonly mapping: Mapping;
  readonly consumer: BoundDigest | undefined;
  readonly provider: BoundDigest | undefined;
}

type PlacedResource = Pick<BoundResource, "type" | "isolation" | "provider" | "namespaces" | "runtime">;

/** Caches that places are found in. */
interface PlacingCaches {
  readonly claims: Pick<BoundCaches["claims"], "get">;
  readonly providerInformer: Pick<BoundCaches["providerInformer"], "get" | "isSynced">;
}

/** Finds the upstream object of a claim and the claims of an upstream object. Reads caches only. */
export class PairPlaces {
  readonly #bound: PlacedResource;
  readonly #caches: PlacingCaches;
  /** For cluster-scoped resources. */
  readonly #names: ClusterScopedView<BoundDigest>;

  constructor(bound: PlacedResource, caches: PlacingCaches) {
    this.#bound = bound;
    this.#caches = caches;
    this.#names = {
      hasClaim: (name) => caches.claims.get(name) !== undefined,
      upstream: (name) => caches.providerInformer.get({ name }),
    };
  }

  /** Returns the pair of a claim's key. Undefined while a cache is not filled (what it lacks may exist), and for objects that may not be copied to the consumer. */
  find(key: string): PlacedPair | undefined {
    const { namespaces, provider, type, isolation } = this.#bound;
    const { claims, providerInformer } = this.#caches;
    const ref = refOf(key);
    if (type.namespaced !== (ref.namespace !== undefined)) return undefined;
    if (!type.namespaced && isolation !== "Namespaced") return this.#findClusterScoped(key, ref);
    const mapping: Mapping =
      ref.namespace === undefined ? { state: "missing" } : namespaces.mapping(ref.namespace);
    const target = providerRefOf(provider.tenant, ref, mapping, isolation);
    const upstream = target === undefined ? undefined : providerInformer.get(target);
    if (target !== undefined && upstream === undefined && !providerInformer.isSynced(target.namespace))
      return undefined;
    const claim = claims.get(key);
    if (claim === undefined && upstream !== undefined && !this.#mayBeCopied(ref, upstream)) return undefined;
    return { key, ref, target, mapping, consumer: claim, provider: upstream };
  }

  /** Returns the keys of the claims that an upstream object may serve; none for another tenant's. */
  claimKeysOf(upstream: Pick<BoundDigest, "metadata">): readonly string[] {
    const { type, provider, isolation, namespaces } = this.#bound;
    const { namespace = "", name = "" } = upstream.metadata;
    if (!type.namespaced) {
      if (isolation !== "Namespaced") return claimNamesOf(provider.tenant, upstream);
      return namespace === provider.tenant.namespace ? [name] : [];
    }
    const consumerNamespace = namespaces.consumerNamespaceOf(namespace);
    return consumerNamespace === undefined ? [] : [`${consumerNamespace}/${name}`];
  }

  /** Returns the one claim that an upstream object serves, or would serve if it existed. */
  keyOf(upstream: BoundDigest): string | undefined {
    const keys = this.claimKeysOf(upstream);
    if (keys.length < 2) return keys[0];
    const { provider, isolation } = this.#bound;
    return claimNameOf(provider.tenant, upstream, isolation, this.#names);
  }

  /** An object under another name than the wanted one may be the claim's, so absence counts only when all is known. */
  #findClusterScoped(key: string, ref: ObjectRef): PlacedPair | undefined {
    const { provider, isolation } = this.#bound;
    const { claims, providerInformer } = this.#caches;
    if (!providerInformer.isSynced(undefined)) return undefined;
    const { tenant } = provider;
    const { name, upstream, isOwn, second } = clusterScopedPlace(tenant, ref.name, isolation, this.#names);
    const claim = claims.get(key);
    if (claim === undefined && upstream !== undefined && !this.#mayBeCopied(ref, upstream)) return undefined;
    return {
      key,
      ref,
      target: { name },
      unseen: upstreamNamesOf(tenant, ref.name)
        .filter((other) => providerInformer.get({ name: other }) === undefined)
        .map((other) => ({ name: other })),
      isOthers: upstream !== undefined && !isOwn,
      second: second === undefined ? undefined : { name: second },
      mapping: { state: "missing" },
      consumer: claim,
      provider: upstream,
    };
  }

  /** The provider's own objects are not copied into namespaces of Kubernetes and Klutch or such as are not there, and not in any number. */
  #mayBeCopied({ namespace }: ObjectRef, upstream: BoundDigest): boolean {
    if (isBound(upstream)) return true;
    const { namespaces, runtime } = this.#bound;
    if (namespace !== undefined && (isSystemNamespace(namespace) || !namespaces.isPresent(namespace)))
      return false;
    const { providerObjectsLimit: limit } = runtime.timing;
    return limit === 0 || namespaces.population(namespace ?? "") < limit;
  }
}
