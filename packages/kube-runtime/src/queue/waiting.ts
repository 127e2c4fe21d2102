/** Orders of keys that wait for work: first in, first out, or one group after the other. */

/** Keys of one priority. */
export interface Waiting<K extends string> {
  readonly size: number;
  add(key: K): void;
  delete(key: K): void;
  /** Takes the key whose turn it is. */
  shift(): K | undefined;
}

/** Gives keys in the order in which they came. */
export class FirstInFirstOut<K extends string> implements Waiting<K> {
  readonly #keys = new Set<K>();
  /** Continues where it stopped: a new iterator would step over every key that was taken since the set last grew. */
  #next = this.#keys.values();

  get size(): number {
    return this.#keys.size;
  }

  add(key: K): void {
    this.#keys.add(key);
  }

  delete(key: K): void {
    this.#keys.delete(key);
  }

  shift(): K | undefined {
    let first = this.#next.next();
    if (first.done === true && this.#keys.size > 0) {
      this.#next = this.#keys.values();
      first = this.#next.next();
    }
    if (first.done === true) return undefined;
    this.#keys.delete(first.value);
    return first.value;
  }
}

/** Groups of keys that take turns, such as tenants. */
export interface Groups {
  /** Returns the group of a key. */
  readonly of: (key: string) => string;
  /** Most keys of one group that are worked on at the same time. */
  readonly atOnce: number;
  /** A group with more waiting keys than this rests after each of them for as long as it took, so that the servers are free half of the time. */
  readonly restsAbove: number;
}

/**
 * Gives one key of each group in turn, so that a group with many keys holds up the others by one key each time. Groups of which enough is
 * worked on are passed over; there are never more of these than workers, so every change costs little.
 */
export class RoundRobin<K extends string> implements Waiting<K> {
  readonly #groupOf: (key: K) => string;
  readonly #isFull: (group: string) => boolean;
  readonly #byGroup = new Map<string, FirstInFirstOut<K>>();
  readonly #turns = new FirstInFirstOut<string>();
  #size = 0;

  constructor(groupOf: (key: K) => string, isFull: (group: string) => boolean) {
    this.#groupOf = groupOf;
    this.#isFull = isFull;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns how many keys of a group wait. */
  sizeOf(group: string): number {
    return this.#byGroup.get(group)?.size ?? 0;
  }

  add(key: K): void {
    const name = this.#groupOf(key);
    let group = this.#byGroup.get(name);
    if (group === undefined) {
      group = new FirstInFirstOut();
      this.#byGroup.set(name, group);
      this.#turns.add(name);
    }
    const before = group.size;
    group.add(key);
    this.#size += group.size - before;
  }

  delete(key: K): void {
    const name = this.#groupOf(key);
    const group = this.#byGroup.get(name);
    if (group === undefined) return;
    const before = group.size;
    group.delete(key);
    this.#size += group.size - before;
    if (group.size > 0) return;
    this.#byGroup.delete(name);
    this.#turns.delete(name);
  }

  shift(): K | undefined {
    for (let left = this.#turns.size; left > 0; left--) {
      const name = this.#turns.shift() ?? "";
      const group = this.#byGroup.get(name);
      const key = this.#isFull(name) ? undefined : group?.shift();
      if (key !== undefined) this.#size--;
      if (group !== undefined && group.size > 0) this.#turns.add(name);
      else this.#byGroup.delete(name);
      if (key !== undefined) return key;
    }
    return undefined;
  }
}
