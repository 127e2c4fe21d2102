/** A heap of keys that become due, each with one time; the earliest is on top. Every change costs O(log n). */
import { Heap, type HeapEntry } from "@klutch/kube-core";

/** A key that waits. */
export interface Delayed<K, T> {
  readonly key: K;
  readonly dueAt: number;
  readonly item: T;
}

interface Entry<K, T> extends Delayed<K, T>, HeapEntry {
  dueAt: number;
  item: T;
}

/** Earliest-due-first collection. Keys that are due at the same time come in no certain order. */
export class DelayHeap<K, T> {
  readonly #heap = new Heap<Entry<K, T>>((left, right) => left.dueAt < right.dueAt);
  readonly #byKey = new Map<K, Entry<K, T>>();

  get size(): number {
    return this.#heap.size;
  }

  /** When the earliest key is due; undefined when empty. */
  get nextDueAt(): number | undefined {
    return this.#heap.first?.dueAt;
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
      this.#heap.moved(present);
      return;
    }
    const entry: Entry<K, T> = { key, dueAt, item, index: 0 };
    this.#heap.add(entry);
    this.#byKey.set(key, entry);
  }

  /** Removes and gives back the earliest key that is due at `now`. */
  popDue(now: number): Delayed<K, T> | undefined {
    const { first } = this.#heap;
    if (first === undefined || first.dueAt > now) return undefined;
    this.#heap.takeFirst();
    this.#byKey.delete(first.key);
    return first;
  }
}
