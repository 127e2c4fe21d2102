/** A binary heap of keys that become due, each with one time; the earliest is on top. Every change costs O(log n). */

/** A key that waits. */
export interface Delayed<K, T> {
  readonly key: K;
  readonly dueAt: number;
  readonly item: T;
}

interface Entry<K, T> extends Delayed<K, T> {
  dueAt: number;
  item: T;
  /** Where it stands in the heap. */
  index: number;
}

/** Earliest-due-first collection. */
export class DelayHeap<K, T> {
  readonly #entries: Entry<K, T>[] = [];
  readonly #byKey = new Map<K, Entry<K, T>>();

  get size(): number {
    return this.#entries.length;
  }

  /** When the earliest key is due; undefined when empty. */
  get nextDueAt(): number | undefined {
    return this.#entries[0]?.dueAt;
  }

  get(key: K): Delayed<K, T> | undefined {
    return this.#byKey.get(key);
  }

  /** Adds the key, or moves it to another time with another item. */
  set(key: K, dueAt: number, item: T): void {
    const present = this.#byKey.get(key);
    if (present !== undefined) {
      present.dueAt = dueAt;
      present.item = item;
      this.#rise(present);
      this.#sink(present);
      return;
    }
    const entry: Entry<K, T> = { key, dueAt, item, index: this.#entries.length };
    this.#entries.push(entry);
    this.#byKey.set(key, entry);
    this.#rise(entry);
  }

  /** Removes and gives back the earliest key that is due at `now`. */
  popDue(now: number): Delayed<K, T> | undefined {
    const first = this.#entries[0];
    if (first === undefined || first.dueAt > now) return undefined;
    const last = this.#entries.pop();
    this.#byKey.delete(first.key);
    if (last !== undefined && last !== first) {
      this.#place(last, 0);
      this.#sink(last);
    }
    return first;
  }

  #rise(entry: Entry<K, T>): void {
    while (entry.index > 0) {
      const above = (entry.index - 1) >> 1;
      const parent = this.#entries[above];
      if (parent === undefined || parent.dueAt <= entry.dueAt) return;
      this.#place(parent, entry.index);
      this.#place(entry, above);
    }
  }

  #sink(entry: Entry<K, T>): void {
    for (;;) {
      const left = this.#entries[2 * entry.index + 1];
      const right = this.#entries[2 * entry.index + 2];
      const child = left !== undefined && right !== undefined && right.dueAt < left.dueAt ? right : left;
      if (child === undefined || entry.dueAt <= child.dueAt) return;
      const below = child.index;
      this.#place(child, entry.index);
      this.#place(entry, below);
    }
  }

  #place(entry: Entry<K, T>, index: number): void {
    entry.index = index;
    this.#entries[index] = entry;
  }
}
