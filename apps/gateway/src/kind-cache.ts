/** The objects and the latest events of one kind in one version, as the API server showed them. No I/O. */
import { type Cursor, History, type HistoryBounds } from "./history.ts";
import { FormError, type ListBytes, type WatchLine } from "./json-bytes.ts";

/** Kind and version as answers name them. */
export interface KindNames {
  readonly apiVersion: string;
  readonly kind: string;
  readonly listKind: string;
}

/** Filled by `begin` and `apply`. Nothing is served from it while it is not synced. */
export class KindCache {
  /** The server's state up to here is known. */
  resourceVersion = 0;
  /** Undefined until a first list is complete. */
  names: KindNames | undefined;
  bytes = 0;
  readonly #bounds: HistoryBounds;
  #objects = new Map<string, Map<string, Buffer>>();
  #history: History | undefined;
  #filled: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(bounds: HistoryBounds) {
    this.#bounds = bounds;
  }

  get synced(): boolean {
    return this.#history !== undefined;
  }

  get objects(): number {
    let count = 0;
    for (const objects of this.#objects.values()) count += objects.size;
    return count;
  }

  /** Watches that are open. */
  get watches(): number {
    return this.#history?.cursors ?? 0;
  }

  /** Bytes of the history, objects that are shared with it included. */
  get historyBytes(): number {
    return this.#history?.bytes ?? 0;
  }

  /** Resolves when it is synced. */
  whenSynced(): Promise<void> {
    return this.#filled.promise;
  }

  /** Forgets all and ends all watches: they are told to list again. */
  reset(): void {
    if (this.#history !== undefined) this.#filled = Promise.withResolvers();
    this.#history?.end();
    this.#history = undefined;
    this.#objects = new Map();
    this.bytes = 0;
  }

  /** Begins with the pages of one list. */
  begin(
    kind: string,
    pages: readonly Pick<ListBytes, "apiVersion" | "kind" | "resourceVersion" | "items">[],
  ): void {
    this.reset();
    const [first] = pages;
    if (first === undefined) return;
    this.names = { apiVersion: first.apiVersion, kind, listKind: first.kind };
    // A copy: the page must not be kept for the sake of one of its objects.
    for (const { items } of pages)
      for (const { identity, object } of items)
        this.#put(identity.namespace, identity.name, Buffer.from(object));
    this.resourceVersion = first.resourceVersion;
    this.#history = new History(first.resourceVersion, this.#bounds);
    this.#filled.resolve();
  }

  /** Takes an event of the watch. Throws `FormError` for one of an earlier version: the API server has gone back, as after a restored backup. */
  apply(event: Exclude<WatchLine, { type: "ERROR" }>, nowMs: number): void {
    if (this.#history === undefined) return;
    if (event.type === "BOOKMARK") {
      if (event.resourceVersion < this.resourceVersion) throw wentBack(event.resourceVersion);
      this.resourceVersion = event.resourceVersion;
      this.#history.drop(nowMs);
      return;
    }
    const { namespace, name, resourceVersion } = event.identity;
    if (resourceVersion <= this.resourceVersion) throw wentBack(resourceVersion);
    if (event.type === "DELETED") this.#take(namespace, name);
    else this.#put(namespace, name, event.object);
    this.resourceVersion = resourceVersion;
    this.#history.append(resourceVersion, namespace, event.line, nowMs);
  }

  /** Returns the objects of one namespace or of all, in the order of an API server. */
  list(namespace: string | undefined): readonly Buffer[] {
    const rows: [key: string, object: Buffer][] = [];
    const namespaces = namespace === undefined ? this.#objects.keys() : [namespace];
    for (const one of namespaces)
      for (const [name, object] of this.#objects.get(one) ?? []) rows.push([`${one}/${name}`, object]);
    return rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, object]) => object);
  }

  /** Returns a place in the history; undefined if events after this version are not known any more. */
  cursor(namespace: string | undefined, after: number): Cursor | undefined {
    return this.#history?.cursor(namespace, after);
  }

  #put(namespace: string, name: string, object: Buffer): void {
    let objects = this.#objects.get(namespace);
    if (objects === undefined) this.#objects.set(namespace, (objects = new Map<string, Buffer>()));
    this.bytes += object.length - (objects.get(name)?.length ?? 0);
    objects.set(name, object);
  }

  #take(namespace: string, name: string): void {
    const objects = this.#objects.get(namespace);
    this.bytes -= objects?.get(name)?.length ?? 0;
    objects?.delete(name);
    if (objects?.size === 0) this.#objects.delete(namespace);
  }
}

function wentBack(resourceVersion: number): FormError {
  return new FormError(`the API server has gone back to version ${resourceVersion}`);
}
