/**
 * The namespace mappings of one tenant, both ways, kept from the APIServiceNamespaces. A provider's namespace that two of them name
 * belongs to neither: the objects of one would look like orphans of the other.
 */
import type { DynamicObject } from "@klutch/kube";
import { type Mapping, mappingOf } from "@klutch/sync";
import type { SharedCache } from "../cache/shared-cache.ts";

/** See the module comment. */
export class NamespaceMap implements Disposable {
  readonly #cache: SharedCache;
  readonly #clusterNamespace: string;
  readonly #consumersOf = new Map<string, Set<string>>();
  readonly #providerOf = new Map<string, string>();
  readonly #handlers = new Set<(consumerNamespace: string) => void>();
  readonly #asked = new Map<string, Promise<void>>();
  readonly #subscription: Disposable;

  constructor(cache: SharedCache, clusterNamespace: string) {
    this.#cache = cache;
    this.#clusterNamespace = clusterNamespace;
    this.#subscription = cache.informer.onChange((change) => this.#update(change.object));
  }

  /** State of the mapping of a consumer namespace. */
  mapping(consumerNamespace: string): Mapping {
    const mapping = mappingOf(this.#cache.get(`${this.#clusterNamespace}/${consumerNamespace}`));
    if (mapping.state !== "ready") return mapping;
    const others = this.#consumersOf.get(mapping.providerNamespace)?.size ?? 0;
    return others > 1 ? { state: "pending" } : mapping;
  }

  /** The consumer namespace behind a service namespace. */
  consumerNamespaceOf(providerNamespace: string): string | undefined {
    const [only, ...others] = this.#consumersOf.get(providerNamespace) ?? [];
    return others.length === 0 ? only : undefined;
  }

  /** Consumer and service namespaces of all mappings that are ready. */
  ready(): IterableIterator<[string, string]> {
    return this.#providerOf.entries();
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
    this.#cache.wrote(object);
  }

  /** Calls `handler` with the consumer namespace of each mapping that changed. */
  onChange(handler: (consumerNamespace: string) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    this.#handlers.clear();
  }

  #update(object: DynamicObject): void {
    const name = object.metadata.name ?? "";
    const previous = this.#providerOf.get(name);
    // Asked anew, because the change may be the object's deletion.
    const mapping = mappingOf(this.#cache.informer.get(`${this.#clusterNamespace}/${name}`));
    const next = mapping.state === "ready" ? mapping.providerNamespace : undefined;
    const concerned = new Set([name, ...this.#move(name, previous, next)]);
    for (const one of concerned) for (const handler of this.#handlers) handler(one);
  }

  /** Gives back the consumer namespaces that share, or shared, the old or the new one. */
  #move(name: string, previous: string | undefined, next: string | undefined): readonly string[] {
    if (previous === next) return [];
    const concerned: string[] = [];
    if (previous !== undefined) {
      const left = this.#consumersOf.get(previous);
      left?.delete(name);
      if (left?.size === 0) this.#consumersOf.delete(previous);
      concerned.push(...(left ?? []));
    }
    if (next === undefined) this.#providerOf.delete(name);
    else {
      const shared = this.#consumersOf.get(next) ?? new Set();
      concerned.push(...shared);
      this.#providerOf.set(name, next);
      this.#consumersOf.set(next, shared.add(name));
    }
    return concerned;
  }
}
