/** The objects of one cache, by key and by index. Written only by its watcher; readers get objects that never change. */
import { type DynamicObject, jsonEqual, keyOf, type ObjectMeta } from "@klutch/kube-core";
import { type WeightBudget, weightOf } from "./weight.ts";

/** Object as a cache keeps it: at least its metadata. */
export interface Cached {
  readonly metadata: ObjectMeta;
}

/** Change of one object of a cache. */
export type Change<T> =
  | { readonly type: "added"; readonly key: string; readonly object: T }
  | { readonly type: "updated"; readonly key: string; readonly object: T; readonly previous: T }
  | { readonly type: "deleted"; readonly key: string; readonly object: T };

/** Gives the index values of an object. */
export type Indexer<T> = (object: T) => readonly string[];

/** Options of a store. */
export interface StoreOptions<T> {
  /** Makes the kept form of an object that the server sent. Default: all but `managedFields`, which is half of most objects. */
  readonly transform?: ((object: DynamicObject) => T) | undefined;
  readonly indexes?: Readonly<Record<string, Indexer<T>>> | undefined;
  readonly onChange: (change: Change<T>) => void;
  /** Asked before an object is added. Default: always. */
  readonly mayAdd?: ((size: number) => boolean) | undefined;
  /** Shared with other stores. Default: objects may have any weight. */
  readonly budget?: WeightBudget | undefined;
  /** Called with the key and weight of an object that is left out because too little of the budget is left. */
  readonly onTooHeavy?: ((key: string, weight: number) => void) | undefined;
  /** Returns true if an object that was read again at the same version is unchanged. Default: only when it is the same JSON. */
  readonly isSame?: ((previous: T, reread: T) => boolean) | undefined;
}

/** Keys and objects with secondary indexes. */
export class Store<T extends Cached> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, { readonly of: Indexer<T>; readonly keys: Map<string, Set<string>> }>();
  readonly #transform: (object: DynamicObject) => T;
  readonly #onChange: (change: Change<T>) => void;
  readonly #mayAdd: (size: number) => boolean;
  readonly #isSame: (previous: T, reread: T) => boolean;
  readonly #budget: WeightBudget | undefined;
  readonly #onTooHeavy: (key: string, weight: number) => void;

  constructor(options: StoreOptions<T>) {
    this.#transform = options.transform ?? asSent;
    this.#onChange = options.onChange;
    this.#mayAdd = options.mayAdd ?? (() => true);
    this.#isSame = options.isSame ?? jsonEqual;
    this.#budget = options.budget;
    this.#onTooHeavy = options.onTooHeavy ?? (() => undefined);
    for (const [name, of] of Object.entries(options.indexes ?? {}))
      this.#indexes.set(name, { of, keys: new Map() });
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /** Objects whose index `name` holds `value`. Throws for an index that was not declared. */
  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new RangeError(`the cache has no index ${name}`);
    const keys = index.keys.get(value) ?? new Set();
    return [...keys].map((key) => this.#objects.get(key)).filter((object) => object !== undefined);
  }

  /**
   * Adds or updates; the same resourceVersion again is no change, unless it was read again and differs. Gives back false for a new object that may
   * not be added, and for one that is too heavy.
   */
  apply(raw: DynamicObject, isReread: boolean = false): boolean {
    const key = keyOf(raw);
    const previous = this.#objects.get(key);
    const isKnown = previous?.metadata.resourceVersion === raw.metadata.resourceVersion;
    if (previous !== undefined && isKnown && !isReread) return true;
    if (previous === undefined && !this.#mayAdd(this.#objects.size)) return false;
    const object = this.#transform(raw);
    if (previous !== undefined && isKnown && this.#isSame(previous, object)) return true;
    // An object that was deleted and created again between two lists is two changes for code that compares identity.
    if (previous !== undefined && previous.metadata.uid !== object.metadata.uid) this.delete(key);
    const replaced = this.#objects.get(key);
    if (!this.#mayKeep(object, replaced)) {
      this.delete(key);
      return false;
    }
    if (replaced !== undefined) this.#unindex(key, replaced);
    this.#objects.set(key, object);
    this.#index(key, object);
    this.#onChange(
      replaced === undefined
        ? { type: "added", key, object }
        : { type: "updated", key, object, previous: replaced },
    );
    return true;
  }

  /** Removes; nothing happens when it is not there. */
  delete(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    this.#budget?.take(-weightOf(object));
    this.#unindex(key, object);
    this.#onChange({ type: "deleted", key, object });
  }

  /** Gives back what the objects weigh; the store is not used any more. */
  dispose(): void {
    for (const object of this.#objects.values()) this.#budget?.take(-weightOf(object));
  }

  #mayKeep(object: T, replaced: T | undefined): boolean {
    if (this.#budget === undefined) return true;
    const weight = weightOf(object);
    if (this.#budget.take(weight - (replaced === undefined ? 0 : weightOf(replaced)))) return true;
    this.#onTooHeavy(keyOf(object), weight);
    return false;
  }

  #index(key: string, object: T): void {
    for (const index of this.#indexes.values()) {
      for (const value of index.of(object)) {
        const keys = index.keys.get(value) ?? new Set();
        index.keys.set(value, keys.add(key));
      }
    }
  }

  #unindex(key: string, object: T): void {
    for (const index of this.#indexes.values()) {
      for (const value of index.of(object)) {
        const keys = index.keys.get(value);
        keys?.delete(key);
        if (keys?.size === 0) index.keys.delete(value);
      }
    }
  }
}

/** The server is trusted to send what was asked for. Assigning undefined keeps the object's fast shape, deleting would not. */
function asSent<T extends Cached>(object: DynamicObject): T {
  const kept =
    object.metadata.managedFields === undefined
      ? object
      : { ...object, metadata: { ...object.metadata, managedFields: undefined } };
  return kept as unknown as T;
}
