/** Sees pairs as their caches' digests, and reads the objects themselves where a decision needs them. */
import { apiVersionOf, type DynamicObject, type ObjectRef, type ResourceType } from "@klutch/kube-core";
import { readLive } from "@klutch/kube-runtime";
import {
  claimNameOf,
  claimNamesOf,
  clusterScopedPlace,
  type ClusterScopedView,
  defaultMetadataRule,
  isBound,
  isDeleting,
  type Isolation,
  isSystemNamespace,
  type Mapping,
  type ObservedPair,
  providerRefOf,
  reduceManagedFields,
  type Ref,
  upstreamNamesOf,
} from "@klutch/sync";
import type { Environment } from "../../clusters.ts";
import type { BoundDigest } from "../../digests.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import type { ExecutionContext } from "./execute.ts";

/** What is needed to tell whose an upstream object is. */
export type PlacingOptions = Pick<PairReaderOptions, "type" | "provider" | "isolation" | "namespaces">;

/** Keys of the claims that an upstream object may serve; none when it is nobody's here. */
export function claimKeysOf(
  { type, provider, isolation, namespaces }: PlacingOptions,
  upstream: { readonly metadata: DynamicObject["metadata"] },
): readonly string[] {
  const { namespace = "", name = "" } = upstream.metadata;
  if (!type.namespaced) {
    if (isolation !== "Namespaced") return claimNamesOf(provider.tenant, upstream);
    return namespace === provider.tenant.namespace ? [name] : [];
  }
  const consumerNamespace = namespaces.consumerNamespaceOf(namespace);
  return consumerNamespace === undefined ? [] : [`${consumerNamespace}/${name}`];
}

/** What a reader needs. */
export interface PairReaderOptions
  extends Pick<
    ExecutionContext,
    "type" | "providerType" | "consumer" | "provider" | "consumerCache" | "view" | "namespaces"
  > {
  readonly isolation: Isolation;
  readonly breaker: DeletionBreaker;
  readonly environment: Environment;
}

/** A pair as the caches show it. */
export interface SeenPair {
  readonly ref: Ref;
  readonly target: Ref | undefined;
  /** See `ObservedPair`. */
  readonly unseen?: readonly Ref[] | undefined;
  readonly isOthers?: boolean | undefined;
  readonly second?: Ref | undefined;
  readonly mapping: Mapping;
  readonly consumer: BoundDigest | undefined;
  readonly provider: BoundDigest | undefined;
  /** The upstream object is as the last look left it, so it need not be read to know that it must be written. */
  providerContentIsKnown?: boolean | undefined;
}

/** A pair for a decision. Where content does not matter to it, objects have metadata only. */
export interface ReadPair extends ObservedPair {
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
}

/** Reads only: what it gives back may be old, which a decision about an absence has to know. */
export class PairReader {
  readonly #options: PairReaderOptions;
  /** Of cluster-scoped resources. */
  readonly #names: ClusterScopedView<BoundDigest>;

  constructor(options: PairReaderOptions) {
    const { consumerCache, view } = options;
    this.#options = options;
    this.#names = {
      hasClaim: (name) => consumerCache.get(name) !== undefined,
      upstream: (name) => view.get({ name }),
    };
  }

  /** Undefined while a cache is not filled: what it does not show may exist; and for what of the provider may not come down. */
  see(key: string, ref: ObjectRef): SeenPair | undefined {
    const { namespaces, provider, type, isolation, consumerCache, view } = this.#options;
    if (type.namespaced !== (ref.namespace !== undefined)) return undefined;
    if (!type.namespaced && isolation !== "Namespaced") return this.#seeClusterScoped(ref);
    const mapping: Mapping =
      ref.namespace === undefined ? { state: "missing" } : namespaces.mapping(ref.namespace);
    const target = providerRefOf(provider.tenant, ref, mapping, isolation);
    const upstream = target === undefined ? undefined : view.get(target);
    if (target !== undefined && upstream === undefined && !view.isSynced(target.namespace)) return undefined;
    const claim = consumerCache.get(key);
    if (claim === undefined && upstream !== undefined && !this.#mayComeDown(ref, upstream)) return undefined;
    return { ref, target, mapping, consumer: claim, provider: upstream };
  }

  /** The provider's own objects do not come down into namespaces of Kubernetes and Klutch or such as are not there, and not in any number. */
  #mayComeDown({ namespace }: ObjectRef, upstream: BoundDigest): boolean {
    if (isBound(upstream)) return true;
    const { namespaces, environment } = this.#options;
    if (namespace !== undefined && (isSystemNamespace(namespace) || !namespaces.isPresent(namespace)))
      return false;
    const { providerObjectsLimit: limit } = environment.timing;
    return limit === 0 || namespaces.population(namespace ?? "") < limit;
  }

  /** The one claim that an upstream object serves, or would serve if it existed. */
  keyOf(upstream: BoundDigest): string | undefined {
    const keys = claimKeysOf(this.#options, upstream);
    if (keys.length < 2) return keys[0];
    const { provider, isolation } = this.#options;
    return claimNameOf(provider.tenant, upstream, isolation, this.#names);
  }

  /** An object under another name than the wanted one may be the claim's, so absence counts only when all is known. */
  #seeClusterScoped(ref: ObjectRef): SeenPair | undefined {
    const { provider, isolation, consumerCache, view } = this.#options;
    if (!view.isSynced(undefined)) return undefined;
    const { tenant } = provider;
    const { name, upstream, isOwn, second } = clusterScopedPlace(tenant, ref.name, isolation, this.#names);
    const claim = consumerCache.get(ref.name);
    if (claim === undefined && upstream !== undefined && !this.#mayComeDown(ref, upstream)) return undefined;
    return {
      ref,
      target: { name },
      unseen: upstreamNamesOf(tenant, ref.name)
        .filter((other) => view.get({ name: other }) === undefined)
        .map((other) => ({ name: other })),
      isOthers: upstream !== undefined && !isOwn,
      second: second === undefined ? undefined : { name: second },
      mapping: { state: "missing" },
      consumer: claim,
      provider: upstream,
    };
  }

  /** The pair with as much content as the decision for it looks at. */
  async read(seen: SeenPair, isUnbinding: boolean, signal: AbortSignal): Promise<ReadPair> {
    const { provider, isolation, breaker } = this.#options;
    const needs = isUnbinding ? noContent : neededContent(seen);
    // At once: what is kept of this version goes when a later one comes.
    const [consumerObject, providerObject] = await Promise.all([
      needs.consumer ? this.#readConsumer(seen, signal) : this.#stub(seen.consumer),
      needs.provider ? this.#readUpstream(seen, signal) : this.#stub(seen.provider),
    ]);
    const { ref, target, unseen, isOthers, second, mapping } = seen;
    return {
      ref,
      target,
      unseen,
      isOthers,
      second,
      mapping,
      tenant: provider.tenant,
      rule: defaultMetadataRule,
      isolation,
      deletionsHeld: breaker.isHeld,
      consumer: consumerObject,
      provider: providerObject,
    };
  }

  #readUpstream(seen: SeenPair, signal: AbortSignal): Promise<DynamicObject | undefined> {
    return seen.consumer === undefined
      ? this.#readForAdoption(seen, signal)
      : this.readProvider(seen, signal);
  }

  /** With the whole of its `managedFields`, which caches do not keep. */
  async #readForAdoption(
    { provider: shown, target }: SeenPair,
    signal: AbortSignal,
  ): Promise<DynamicObject | undefined> {
    if (shown === undefined || target === undefined) return undefined;
    const { provider, providerType: type, view } = this.#options;
    return readLive({ client: provider.client, type, ref: target, kept: shown, cache: view }, signal);
  }

  /** The upstream object with its content. */
  async readProvider(seen: SeenPair, signal: AbortSignal): Promise<DynamicObject | undefined> {
    if (seen.provider === undefined || seen.target === undefined) return undefined;
    const { provider, providerType, view } = this.#options;
    const kept = seen.provider.payload.read();
    if (kept !== undefined) return kept;
    const { target: ref, provider: shown } = seen;
    const read = { client: provider.client, type: providerType, ref, kept: shown, cache: view };
    return reduceManagedFields(await readLive(read, signal));
  }

  async #readConsumer(seen: SeenPair, signal: AbortSignal): Promise<DynamicObject | undefined> {
    if (seen.consumer === undefined) return undefined;
    const { consumer, type, consumerCache } = this.#options;
    const { ref, consumer: kept } = seen;
    const read = { client: consumer.client, type, ref, kept, cache: consumerCache };
    return kept.payload.read() ?? (await readLive(read, signal));
  }

  #stub(digested: BoundDigest | undefined): DynamicObject | undefined {
    return digested && stubOf(this.#options.type, digested);
  }
}

/** The object as far as its digest shows it: what most decisions and all events need. */
export function stubOf(type: ResourceType, { metadata }: BoundDigest): DynamicObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata };
}

const noContent = { consumer: false, provider: false };
const bothContents = { consumer: true, provider: true };

/** Deletions, adoptions and waits are decided by metadata; only what is written up or down needs content. */
function neededContent(seen: SeenPair): { readonly consumer: boolean; readonly provider: boolean } {
  const { consumer, provider, target } = seen;
  if (consumer === undefined) {
    const isAdopted = provider !== undefined && !isDeleting(provider) && !isBound(provider);
    return { consumer: false, provider: isAdopted };
  }
  if (isDeleting(consumer) || target === undefined) return noContent;
  return seen.providerContentIsKnown === true ? { consumer: true, provider: false } : bothContents;
}
