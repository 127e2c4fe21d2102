/** A binary heap, for whatever waits for its turn. */

/** Entry of a heap. Only the heap writes `index`, which is meaningless outside of a heap. */
export interface HeapEntry {
  index: number;
}

/**
 * Keeps the entry on top before which no other comes. Every change costs O(log n). Two entries of which neither comes before the other
 * come in no certain order: an order that must be certain has to tell any two apart.
 */
export class Heap<E extends HeapEntry> {
  readonly #entries: E[] = [];
  readonly #isBefore: (left: E, right: E) => boolean;

  constructor(isBefore: (left: E, right: E) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** The entry on top; undefined when empty. */
  get first(): E | undefined {
    return this.#entries[0];
  }

  /** Adds an entry that is not in it. */
  add(entry: E): void {
    entry.index = this.#entries.length;
    this.#entries.push(entry);
    this.#rise(entry);
  }

  /** To be called when what the order goes by changed for an entry that is in it. */
  moved(entry: E): void {
    this.#rise(entry);
    this.#sink(entry);
  }

  /** Removes the entry on top and gives it back; undefined when empty. */
  takeFirst(): E | undefined {
    const first = this.#entries[0];
    const last = this.#entries.pop();
    if (last !== undefined && last !== first) {
      this.#place(last, 0);
      this.#sink(last);
    }
    return first;
  }

  #rise(entry: E): void {
    while (entry.index > 0) {
      const above = (entry.index - 1) >> 1;
      const parent = this.#entries[above];
      if (parent === undefined || !this.#isBefore(entry, parent)) return;
      this.#place(parent, entry.index);
      this.#place(entry, above);
    }
  }

  #sink(entry: E): void {
    for (;;) {
      const left = this.#entries[2 * entry.index + 1];
      const right = this.#entries[2 * entry.index + 2];
      const child = left !== undefined && right !== undefined && this.#isBefore(right, left) ? right : left;
      if (child === undefined || !this.#isBefore(child, entry)) return;
      const below = child.index;
      this.#place(child, entry.index);
      this.#place(entry, below);
    }
  }

  #place(entry: E, index: number): void {
    entry.index = index;
    this.#entries[index] = entry;
  }
}
