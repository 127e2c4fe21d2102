/** Sees pairs as their caches' digests, and reads the objects themselves where a decision needs them. */
import { apiVersionOf, type DynamicObject, type ObjectRef } from "@klutch/kube";
import {
  defaultMetadataRule,
  isBound,
  isDeleting,
  isSystemNamespace,
  type Isolation,
  type Mapping,
  type ObservedPair,
  providerRefOf,
  reduceManagedFields,
  type Ref,
} from "@klutch/sync";
import type { Compact } from "../cache/compact.ts";
import { readLive } from "../cache/live.ts";
import type { Environment } from "../clusters.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import type { ExecutionContext } from "./execute.ts";

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
  readonly mapping: Mapping;
  readonly consumer: Compact | undefined;
  readonly provider: Compact | undefined;
  /** The upstream object is as the last look left it, so it need not be read to know that it must be written. */
  providerContentIsKnown?: boolean | undefined;
}

/** A pair for a decision. Where content does not matter to it, objects have metadata only. */
export interface ReadPair extends ObservedPair {
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
}

/** See the module comment. */
export class PairReader {
  readonly #options: PairReaderOptions;

  constructor(options: PairReaderOptions) {
    this.#options = options;
  }

  /** Undefined while a cache is not filled: what it does not show may exist; and for what of the provider may not come down. */
  see(key: string, ref: ObjectRef): SeenPair | undefined {
    const { namespaces, provider, type, isolation, consumerCache, view } = this.#options;
    if (type.namespaced !== (ref.namespace !== undefined)) return undefined;
    const mapping: Mapping =
      ref.namespace === undefined ? { state: "missing" } : namespaces.mapping(ref.namespace);
    const target = providerRefOf(provider.tenant, ref, mapping, isolation);
    const upstream = target === undefined ? undefined : view.get(target);
    if (target !== undefined && upstream === undefined && !view.isSynced(target.namespace)) return undefined;
    const claim = consumerCache.get(key);
    if (claim === undefined && upstream !== undefined && !this.#mayComeDown(ref, upstream)) return undefined;
    return { ref, target, mapping, consumer: claim, provider: upstream };
  }

  /** The provider's own objects do not come down into namespaces of Kubernetes and Klutch, and not in any number. */
  #mayComeDown({ namespace }: ObjectRef, upstream: Compact): boolean {
    if (isBound(upstream)) return true;
    const { namespaces, environment } = this.#options;
    if (namespace !== undefined && isSystemNamespace(namespace)) return false;
    const { providerObjectsLimit: limit } = environment.timing;
    return limit === 0 || namespaces.population(namespace ?? "") < limit;
  }

  /** The pair with as much content as the decision for it looks at. */
  async read(seen: SeenPair, isUnbinding: boolean, signal: AbortSignal): Promise<ReadPair> {
    const { provider, isolation, breaker } = this.#options;
    const needs = isUnbinding ? noContent : neededContent(seen);
    // At once: what is kept of this version goes when a later one comes.
    const [consumerObject, providerObject] = await Promise.all([
      needs.consumer ? this.#readConsumer(seen, signal) : this.#stub(seen.consumer),
      needs.provider ? this.readProvider(seen, signal) : this.#stub(seen.provider),
    ]);
    return {
      ref: seen.ref,
      mapping: seen.mapping,
      tenant: provider.tenant,
      rule: defaultMetadataRule,
      isolation,
      deletionsHeld: breaker.isHeld,
      consumer: consumerObject,
      provider: providerObject,
    };
  }

  /** The upstream object with its content. */
  async readProvider(seen: SeenPair, signal: AbortSignal): Promise<DynamicObject | undefined> {
    if (seen.provider === undefined || seen.target === undefined) return undefined;
    const { provider, providerType, view } = this.#options;
    const kept = seen.provider.body.read();
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
    return kept.body.read() ?? (await readLive(read, signal));
  }

  #stub(compact: Compact | undefined): DynamicObject | undefined {
    if (compact === undefined) return undefined;
    const { type } = this.#options;
    return { apiVersion: apiVersionOf(type), kind: type.kind, metadata: compact.metadata };
  }
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
