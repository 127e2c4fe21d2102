/**
 * How many copies of one claimed resource lie in each namespace, and who waits for a place. Who was refused gets the next place that
 * comes free. More than as many as there are places are not remembered: a comparison of everything finds them again.
 */
import type { Cached, Informer } from "@klutch/kube-runtime";

interface Places {
  readonly taken: Set<string>;
  readonly refused: Set<string>;
  /** More were refused than are remembered. */
  hasMore: boolean;
}

/** Keys are those of the consumer's objects. It keeps no copy away by itself: who makes copies asks `admit`. */
export class CopyQuota {
  readonly #limit: number;
  readonly #places = new Map<string, Places>();

  /** 0: no limit. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts the copies that a cache shows, starting with the cached ones. */
  watch<T extends Cached>(informer: Informer<T>, isCopy: (object: T) => boolean): Disposable {
    return informer.onChange(({ type, key, object }) => {
      if (type !== "deleted" && isCopy(object)) this.#of(key).taken.add(key);
      else this.remove(key);
    });
  }

  /** Takes a slot for the copy with this key; returns false and remembers the key when there is none. */
  admit(key: string): boolean {
    const places = this.#of(key);
    const { taken, refused } = places;
    if (this.#limit === 0 || taken.has(key) || taken.size < this.#limit) {
      refused.delete(key);
      taken.add(key);
      return true;
    }
    if (refused.size < this.#limit) refused.add(key);
    else if (!refused.has(key)) places.hasMore = true;
    return false;
  }

  /** The copy is gone, or was not made. */
  remove(key: string): void {
    this.#places.get(namespaceOf(key))?.taken.delete(key);
  }

  /**
   * After the work on `key`: who gets a place that is free in its namespace, if somebody waits; "anyone" when who waits is no longer
   * known. `key` itself does not wait any more unless it was refused just now.
   */
  next(key: string, wasRefused: boolean): { readonly key: string } | "anyone" | undefined {
    const places = this.#places.get(namespaceOf(key));
    if (places === undefined || wasRefused) return undefined;
    const { taken, refused } = places;
    refused.delete(key);
    if (taken.size >= this.#limit) return undefined;
    const [first] = refused;
    if (first !== undefined) return { key: first };
    if (!places.hasMore) return undefined;
    places.hasMore = false;
    return "anyone";
  }

  #of(key: string): Places {
    const namespace = namespaceOf(key);
    const places = this.#places.get(namespace) ?? { taken: new Set(), refused: new Set(), hasMore: false };
    this.#places.set(namespace, places);
    return places;
  }
}

const namespaceOf = (key: string): string => key.slice(0, Math.max(0, key.indexOf("/")));
