/** A binary heap of things that become due; the earliest is on top. */

interface Entry<T> {
  readonly dueAt: number;
  readonly item: T;
}

/** Earliest-due-first collection. */
export class DelayHeap<T> {
  readonly #entries: Entry<T>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** When the earliest item is due; undefined when empty. */
  get nextDueAt(): number | undefined {
    return this.#entries[0]?.dueAt;
  }

  push(dueAt: number, item: T): void {
    this.#entries.push({ dueAt, item });
    let child = this.#entries.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (this.#due(parent) <= this.#due(child)) break;
      this.#swap(parent, child);
      child = parent;
    }
  }

  /** Removes and gives back the earliest item that is due at `now`. */
  popDue(now: number): T | undefined {
    const first = this.#entries[0];
    if (first === undefined || first.dueAt > now) return undefined;
    const last = this.#entries.pop();
    if (last !== undefined && this.#entries.length > 0) {
      this.#entries[0] = last;
      this.#sink();
    }
    return first.item;
  }

  #sink(): void {
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      if (left >= this.#entries.length) return;
      const child = this.#due(left + 1) < this.#due(left) ? left + 1 : left;
      if (this.#due(parent) <= this.#due(child)) return;
      this.#swap(parent, child);
      parent = child;
    }
  }

  #due(index: number): number {
    return this.#entries[index]?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  #swap(left: number, right: number): void {
    const a = this.#entries[left];
    const b = this.#entries[right];
    if (a === undefined || b === undefined) return;
    this.#entries[left] = b;
    this.#entries[right] = a;
  }
}
