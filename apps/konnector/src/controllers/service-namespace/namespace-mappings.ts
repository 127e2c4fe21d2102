/**
 * The namespace mappings of one tenant, both ways, kept from the APIServiceNamespaces: those that count (sync's mapping-rules.ts). What
 * the provider says of namespaces that the app cluster does not have is followed for a few of them at a time, so that what was left there
 * is released in order; nothing is copied to them.
 */
import { clusterBindingName, releaseDeletionsAnnotation, serviceNamespaceOwner } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  jsonEqual,
  type ObjectMeta,
} from "@klutch/kube-core";
import type { Cached, Informer, ReadYourWritesCache } from "@klutch/kube-runtime";
import {
  hasUsualName,
  isSystemNamespace,
  judgeMapping,
  type Mapping,
  mappingOf,
  type Tenant,
} from "@klutch/sync";
import type { Logger } from "@klutch/telemetry";
import { MappingProofs, type ProofOf } from "./mapping-proofs.ts";
import { NamespacePopulation } from "./namespace-population.ts";

/** Options of the mappings. */
export interface NamespaceMappingsOptions {
  readonly mappings: ReadYourWritesCache;
  readonly consumerNamespaces: ReadYourWritesCache;
  /** The tenant's ClusterBinding, which says that it uses too many namespaces. */
  readonly clusterBindings: ReadYourWritesCache;
  readonly tenant: Tenant;
  /** Reads from a service namespace whose it is; called only if its name does not follow from the consumer's. */
  readonly proofOf: ProofOf;
  readonly clock: Clock;
  readonly logger: Logger;
}

const unjudged: Mapping = { state: "pending" };
const overLimit: Mapping = {
  state: "pending",
  why: "this cluster uses more namespaces than the platform allows it, and this one is among the newest",
};
/** Most absent namespaces that are followed at a time. */
const absentLimit = 100;

interface Named {
  readonly providerNamespace: string;
  mapping: Mapping;
  wasOpen: boolean;
}

/** Follows the mappings from construction until it is disposed. A mapping that does not count is `pending`, and says why. */
export class NamespaceMappings implements Disposable {
  readonly #options: NamespaceMappingsOptions;
  /** Verdict on each mapping that names a service namespace, by consumer namespace. */
  readonly #named = new Map<string, Named>();
  /** Consumer namespaces that share a service namespace. */
  readonly #sharers = new Map<string, Set<string>>();
  readonly #proofs: MappingProofs;
  readonly #consumerOf = new Map<string, string>();
  readonly #providerOf = new Map<string, string>();
  /** Mapped namespaces that the app cluster lacks. */
  readonly #absent = new Set<string>();
  readonly #population: NamespacePopulation;
  readonly #handlers = new Set<(consumerNamespace: string) => void>();
  readonly #asked = new Map<string, Promise<void>>();
  readonly #subscriptions = new DisposableStack();

  constructor(options: NamespaceMappingsOptions) {
    this.#options = options;
    const { mappings, consumerNamespaces, clusterBindings, proofOf, clock, logger } = options;
    this.#proofs = this.#subscriptions.use(new MappingProofs(proofOf, clock, logger));
    this.#population = new NamespacePopulation((namespace) => this.#populationTurned(namespace));
    this.#subscriptions.use(mappings.informer.onChange(({ object }) => this.#update(object)));
    this.#subscriptions.use(
      consumerNamespaces.informer.onChange((change) => {
        const { type, key } = change;
        if (type !== "updated") {
          if (this.#named.has(key)) this.#settle(key);
        } else if (releaseOf(change.object) !== releaseOf(change.previous))
          for (const handler of this.#handlers) handler(key);
      }),
    );
    this.#subscriptions.use(
      clusterBindings.informer.onChange((change) => {
        if (change.type !== "updated" || isOverLimit(change.object) === isOverLimit(change.previous)) return;
        for (const { metadata } of mappings.informer.list())
          for (const handler of this.#handlers) handler(metadata.name ?? "");
      }),
    );
  }

  /** State of the mapping of a consumer namespace. */
  mapping(consumerNamespace: string): Mapping {
    const { mappings, clusterBindings } = this.#options;
    const seen = mappingOf(mappings.get(this.#keyOf(consumerNamespace)));
    if (seen.state === "ready") return this.#named.get(consumerNamespace)?.mapping ?? unjudged;
    const isPlain = seen.state === "pending" && seen.why === undefined;
    return isPlain && isOverLimit(clusterBindings.get(this.#keyOf(clusterBindingName))) ? overLimit : seen;
  }

  /** The consumer namespace behind a service namespace. */
  consumerNamespaceOf(providerNamespace: string): string | undefined {
    return this.#consumerOf.get(providerNamespace);
  }

  /** The service namespace of a namespace that the app cluster has. */
  providerNamespaceOf(consumerNamespace: string): string | undefined {
    return this.#providerOf.get(consumerNamespace);
  }

  /** Key in the app cluster of what lies in a service namespace; undefined while that has no counterpart. */
  consumerKeyOf({ namespace = "", name = "" }: ObjectMeta): string | undefined {
    const consumerNamespace = this.consumerNamespaceOf(namespace);
    return consumerNamespace === undefined ? undefined : `${consumerNamespace}/${name}`;
  }

  /** Consumer and service namespaces of all mappings that are ready. */
  ready(): IterableIterator<[string, string]> {
    return this.#providerOf.entries();
  }

  /** Returns true if claimed objects cross there: it has a bound object that was created here, not by the provider. */
  isOpen(consumerNamespace: string): boolean {
    return !isSystemNamespace(consumerNamespace) && this.#population.of(consumerNamespace).own > 0;
  }

  /** Returns true if the app cluster has the namespace; a claim may be seen before its namespace. */
  isPresent(consumerNamespace: string): boolean {
    return (
      this.#options.consumerNamespaces.get(consumerNamespace) !== undefined ||
      this.population(consumerNamespace) > 0
    );
  }

  /** Returns the number of bound objects in the namespace; cluster-scoped ones count under "". */
  population(consumerNamespace: string): number {
    return this.#population.of(consumerNamespace).all;
  }

  /** Counts the objects of a bound API until that is disposed. */
  inhabit<T extends Cached>(informer: Informer<T>): Disposable {
    return this.#population.add(informer);
  }

  /** Asks for a mapping with `create`; who asks while an answer is awaited, awaits the same one. */
  async ask(consumerNamespace: string, create: () => Promise<void>): Promise<void> {
    const asked = this.#asked.get(consumerNamespace) ?? create();
    this.#asked.set(consumerNamespace, asked);
    try {
      await asked;
    } finally {
      this.#asked.delete(consumerNamespace);
    }
  }

  /** Remembers a mapping that this process just made. */
  wrote(object: DynamicObject): void {
    this.#options.mappings.wrote(object);
  }

  /**
   * Calls `handler` with the consumer namespace of each mapping that changed, or that began or ceased to be open, and with each whose deletion
   * a person confirmed.
   */
  onChange(handler: (consumerNamespace: string) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  [Symbol.dispose](): void {
    this.#subscriptions.dispose();
    this.#handlers.clear();
  }

  #keyOf(consumerNamespace: string): string {
    return `${this.#options.tenant.namespace}/${consumerNamespace}`;
  }

  #update(object: DynamicObject): void {
    const name = object.metadata.name ?? "";
    const previous = this.#named.get(name)?.providerNamespace;
    // Asked again, because the change may be the object's deletion.
    const seen = mappingOf(this.#options.mappings.informer.get(this.#keyOf(name)));
    const next = seen.state === "ready" ? seen.providerNamespace : undefined;
    const left = previous === undefined || previous === next ? [] : this.#leave(name, previous);
    if (next === undefined) this.#named.delete(name);
    else {
      const sharers = this.#sharers.get(next) ?? new Set();
      this.#sharers.set(next, sharers.add(name));
      // Until it is judged, below, another service namespace than before does not count.
      const mapping = previous === next ? (this.#named.get(name)?.mapping ?? unjudged) : unjudged;
      this.#named.set(name, { providerNamespace: next, mapping, wasOpen: false });
      this.#proofs.forget(next);
      for (const other of sharers) if (other !== name) this.#settle(other);
    }
    for (const other of left) this.#settle(other);
    this.#settle(name);
  }

  /** Judged again only when that makes a difference for the namespace. */
  #populationTurned(namespace: string): void {
    const named = this.#named.get(namespace);
    if (named === undefined) return;
    const isOpen = this.isOpen(namespace);
    const isKnown = this.isPresent(namespace) || this.#absent.has(namespace);
    const isMapped = named.mapping.state === "ready" && isKnown;
    if (isOpen === named.wasOpen && isMapped === this.#providerOf.has(namespace)) return;
    this.#settle(namespace);
  }

  /** The consumer namespaces that still name the service namespace. */
  #leave(name: string, providerNamespace: string): Iterable<string> {
    const sharers = this.#sharers.get(providerNamespace);
    sharers?.delete(name);
    if (sharers?.size === 0) this.#sharers.delete(providerNamespace);
    return sharers ?? [];
  }

  /** Judges one mapping, and calls the handlers. */
  #settle(name: string): void {
    const named = this.#named.get(name);
    const previous = this.#providerOf.get(name);
    if (previous !== undefined && this.#consumerOf.get(previous) === name) this.#consumerOf.delete(previous);
    this.#providerOf.delete(name);
    const wasAbsent = this.#absent.delete(name);
    if (named !== undefined) {
      const { providerNamespace } = named;
      named.mapping = this.#judge(name, providerNamespace);
      named.wasOpen = this.isOpen(name);
      if (named.mapping.state === "ready" && this.#isFollowed(name)) {
        this.#providerOf.set(name, providerNamespace);
        this.#consumerOf.set(providerNamespace, name);
      }
    }
    for (const handler of this.#handlers) handler(name);
    if (wasAbsent && !this.#absent.has(name)) this.#followNext();
  }

  #isFollowed(name: string): boolean {
    if (this.isPresent(name)) return true;
    if (this.#absent.size < absentLimit) this.#absent.add(name);
    return this.#absent.has(name);
  }

  /** One more namespace that is not there can be followed. */
  #followNext(): void {
    for (const [name, { mapping }] of this.#named) {
      if (mapping.state !== "ready" || this.#providerOf.has(name)) continue;
      this.#settle(name);
      return;
    }
  }

  #judge(consumerNamespace: string, providerNamespace: string): Mapping {
    const { tenant, logger } = this.#options;
    const sharers = [...(this.#sharers.get(providerNamespace) ?? [])];
    const proof = this.#proofs.get(providerNamespace);
    const doubted = { tenant, consumerNamespace, providerNamespace, sharers, proof };
    const mapping = judgeMapping(doubted);
    if (mapping.state === "ready") return mapping;
    // Whatever it says: a proof helps only a mapping that lacks nothing else.
    const proven = { ...doubted, proof: serviceNamespaceOwner(tenant.namespace, consumerNamespace) };
    if (judgeMapping(proven).state === "ready" && !hasUsualName(doubted))
      this.#proofs.request(
        providerNamespace,
        () => this.#named.get(consumerNamespace)?.providerNamespace === providerNamespace,
        () => this.#settle(consumerNamespace),
      );
    if (!jsonEqual(this.#named.get(consumerNamespace)?.mapping, mapping))
      logger.warn("a namespace mapping of the provider does not count", {
        namespace: consumerNamespace,
        why: mapping.state === "pending" ? mapping.why : undefined,
      });
    return mapping;
  }
}

function isOverLimit(clusterBinding: DynamicObject | undefined): boolean {
  const found = findCondition(conditionsOf(clusterBinding), "WithinLimits");
  return found?.status === "False" && found.reason === "TooManyNamespaces";
}

/** The confirmation that the namespace's claims may go with it. */
function releaseOf({ metadata }: DynamicObject): string | undefined {
  return metadata.annotations?.[releaseDeletionsAnnotation];
}
