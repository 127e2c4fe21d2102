/** Which two objects belong together, and where they stand or will stand, as the caches of both clusters show it. */
import { type ObjectRef, refOf, type ResourceType } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import {
  claimNameOf,
  claimNamesOf,
  clusterScopedPlace,
  type ClusterScopedView,
  isBound,
  type Isolation,
  isSystemNamespace,
  type Mapping,
  providerRefOf,
  upstreamNamesOf,
} from "@klutch/sync";
import type { ProviderCluster, RuntimeDependencies } from "../../clusters.ts";
import type { BoundDigest } from "../../digests.ts";
import type { MultiNamespaceInformer } from "../service-namespace/multi-namespace-informer.ts";
import type { NamespaceMappings } from "../service-namespace/namespace-mappings.ts";

/** What is needed to place objects. */
export interface PairPlacesOptions {
  /** The resource in the app cluster. */
  readonly type: ResourceType;
  readonly isolation: Isolation;
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMappings;
  readonly consumerCache: Pick<ReadYourWritesCache<BoundDigest>, "get">;
  readonly providerInformer: Pick<MultiNamespaceInformer<BoundDigest>, "get" | "isSynced">;
  readonly runtime: RuntimeDependencies;
}

/** A pair as the caches show it. */
export interface PlacedPair {
  readonly key: string;
  /** The claim's, also when it is not there. */
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

/** Finds the upstream object of a claim and the claims of an upstream object. Reads caches only. */
export class PairPlaces {
  readonly #options: PairPlacesOptions;
  /** Of cluster-scoped resources. */
  readonly #names: ClusterScopedView<BoundDigest>;

  constructor(options: PairPlacesOptions) {
    const { consumerCache, providerInformer } = options;
    this.#options = options;
    this.#names = {
      hasClaim: (name) => consumerCache.get(name) !== undefined,
      upstream: (name) => providerInformer.get({ name }),
    };
  }

  /** The pair of a claim's key. Undefined while a cache is not filled, since what it does not show may exist, and for what may not be copied to the consumer. */
  find(key: string): PlacedPair | undefined {
    const { namespaces, provider, type, isolation, consumerCache, providerInformer } = this.#options;
    const ref = refOf(key);
    if (type.namespaced !== (ref.namespace !== undefined)) return undefined;
    if (!type.namespaced && isolation !== "Namespaced") return this.#findClusterScoped(key, ref);
    const mapping: Mapping =
      ref.namespace === undefined ? { state: "missing" } : namespaces.mapping(ref.namespace);
    const target = providerRefOf(provider.tenant, ref, mapping, isolation);
    const upstream = target === undefined ? undefined : providerInformer.get(target);
    if (target !== undefined && upstream === undefined && !providerInformer.isSynced(target.namespace))
      return undefined;
    const claim = consumerCache.get(key);
    if (claim === undefined && upstream !== undefined && !this.#mayBeCopied(ref, upstream)) return undefined;
    return { key, ref, target, mapping, consumer: claim, provider: upstream };
  }

  /** Keys of the claims that an upstream object may serve; none when it is nobody's here. */
  claimKeysOf(upstream: Pick<BoundDigest, "metadata">): readonly string[] {
    const { type, provider, isolation, namespaces } = this.#options;
    const { namespace = "", name = "" } = upstream.metadata;
    if (!type.namespaced) {
      if (isolation !== "Namespaced") return claimNamesOf(provider.tenant, upstream);
      return namespace === provider.tenant.namespace ? [name] : [];
    }
    const consumerNamespace = namespaces.consumerNamespaceOf(namespace);
    return consumerNamespace === undefined ? [] : [`${consumerNamespace}/${name}`];
  }

  /** The one claim that an upstream object serves, or would serve if it existed. */
  keyOf(upstream: BoundDigest): string | undefined {
    const keys = this.claimKeysOf(upstream);
    if (keys.length < 2) return keys[0];
    const { provider, isolation } = this.#options;
    return claimNameOf(provider.tenant, upstream, isolation, this.#names);
  }

  /** An object under another name than the wanted one may be the claim's, so absence counts only when all is known. */
  #findClusterScoped(key: string, ref: ObjectRef): PlacedPair | undefined {
    const { provider, isolation, consumerCache, providerInformer } = this.#options;
    if (!providerInformer.isSynced(undefined)) return undefined;
    const { tenant } = provider;
    const { name, upstream, isOwn, second } = clusterScopedPlace(tenant, ref.name, isolation, this.#names);
    const claim = consumerCache.get(key);
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
    const { namespaces, runtime } = this.#options;
    if (namespace !== undefined && (isSystemNamespace(namespace) || !namespaces.isPresent(namespace)))
      return false;
    const { providerObjectsLimit: limit } = runtime.timing;
    return limit === 0 || namespaces.population(namespace ?? "") < limit;
  }
}
