/** The namespace mappings of one tenant, both ways, kept from the APIServiceNamespaces. */
import type { DynamicObject, ObjectMeta } from "@klutch/kube";
import { type Mapping, mappingOf } from "@klutch/sync";
import type { SharedCache } from "../cache/shared-cache.ts";

/** See the module comment. */
export class NamespaceMap implements Disposable {
  readonly #cache: SharedCache;
  readonly #clusterNamespace: string;
  readonly #consumerOf = new Map<string, string>();
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
    return mappingOf(this.#cache.get(`${this.#clusterNamespace}/${consumerNamespace}`));
  }

  /** The consumer namespace behind a service namespace. */
  consumerNamespaceOf(providerNamespace: string): string | undefined {
    return this.#consumerOf.get(providerNamespace);
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
    if (previous !== undefined) this.#consumerOf.delete(previous);
    if (mapping.state === "ready") {
      this.#providerOf.set(name, mapping.providerNamespace);
      this.#consumerOf.set(mapping.providerNamespace, name);
    } else {
      this.#providerOf.delete(name);
    }
    for (const handler of this.#handlers) handler(name);
  }
}
