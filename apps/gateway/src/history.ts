/**
 * The latest events of one kind, for watches that begin or go on somewhere in the past. A watch is a cursor into it and has no queue of its
 * own: one that reads too slowly finds that its next event is gone. So memory does not grow with watches.
 */

/** Bounds of a history. */
export interface HistoryBounds {
  /** Bytes of all lines. */
  readonly maxBytes: number;
  /** Age at which events are dropped although there is room. */
  readonly maxAgeMs: number;
}

/** An event in two chains: that of all, and that of its namespace. */
interface Link {
  readonly resourceVersion: number;
  /** Undefined once it was dropped, and in the first link of a chain, which is no event. */
  line: Buffer | undefined;
  isDropped: boolean;
  nextOfAll: Link | undefined;
  nextInNamespace: Link | undefined;
  readonly namespace: string;
  readonly atMs: number;
}

/** The end of a chain, and the cursors in it. */
interface Chain {
  tail: Link;
  readonly cursors: Set<Cursor>;
}

/** Place of one watch. */
export interface Cursor extends Disposable {
  /** Takes the next line; undefined if there is none yet, `expired` if events have been missed. */
  next(): Buffer | "expired" | undefined;
  /** Called when there is something new to take. */
  onNews: (() => void) | undefined;
}

/** Keeps the events after `since`. */
export class History {
  /** All events with a higher version are here. */
  since: number;
  bytes = 0;
  readonly #bounds: HistoryBounds;
  #links: Link[] = [];
  #head = 0;
  readonly #all: Chain;
  readonly #namespaces = new Map<string, Chain>();
  #isOver = false;

  constructor(since: number, bounds: HistoryBounds) {
    this.since = since;
    this.#bounds = bounds;
    this.#all = { tail: sentinel(), cursors: new Set() };
  }

  /** Watches that have a place. */
  get cursors(): number {
    let count = this.#all.cursors.size;
    for (const { cursors } of this.#namespaces.values()) count += cursors.size;
    return count;
  }

  /** Appends an event; versions only grow. */
  append(resourceVersion: number, namespace: string, line: Buffer, nowMs: number): void {
    const link: Link = { ...sentinel(), resourceVersion, namespace, line, atMs: nowMs };
    this.#links.push(link);
    this.bytes += line.length;
    const chain = this.#chainOf(namespace);
    this.#all.tail.nextOfAll = link;
    this.#all.tail = link;
    chain.tail.nextInNamespace = link;
    chain.tail = link;
    this.drop(nowMs);
    for (const cursor of this.#all.cursors) cursor.onNews?.();
    for (const cursor of chain.cursors) cursor.onNews?.();
  }

  /** Drops events that are too old, or beyond the room for them. */
  drop(nowMs: number): void {
    const { maxBytes, maxAgeMs } = this.#bounds;
    for (let first = this.#links[this.#head]; first !== undefined; first = this.#links[this.#head]) {
      if (this.bytes <= maxBytes && nowMs - first.atMs <= maxAgeMs) break;
      this.#head++;
      this.bytes -= first.line?.length ?? 0;
      first.line = undefined;
      first.isDropped = true;
      this.since = first.resourceVersion;
      this.#forget(first);
    }
    if (this.#head > 1000 && this.#head * 2 > this.#links.length) {
      this.#links = this.#links.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Ends all watches: what follows does not join what was. */
  end(): void {
    this.#isOver = true;
    for (const chain of [this.#all, ...this.#namespaces.values()])
      for (const cursor of chain.cursors) cursor.onNews?.();
  }

  /**
   * Returns a place behind all events up to `after`, in one namespace or in all; undefined if events after it have been dropped. A version
   * that has not come yet is fine: events up to it are left out.
   */
  cursor(namespace: string | undefined, after: number): Cursor | undefined {
    if (after < this.since || this.#isOver) return undefined;
    const chain = namespace === undefined ? this.#all : this.#chainOf(namespace);
    const next = (link: Link): Link | undefined =>
      namespace === undefined ? link.nextOfAll : link.nextInNamespace;
    let at = this.#before(namespace, after) ?? chain.tail;
    const cursor: Cursor = {
      onNews: undefined,
      next: () => {
        if (this.#isOver) return "expired";
        for (let link = next(at); link !== undefined; link = next(at)) {
          if (link.isDropped) return "expired";
          at = link;
          if (link.resourceVersion > after) return link.line ?? "expired";
        }
        return undefined;
      },
      [Symbol.dispose]: () => {
        chain.cursors.delete(cursor);
        if (namespace !== undefined) this.#prune(namespace, chain);
      },
    };
    chain.cursors.add(cursor);
    return cursor;
  }

  /** Returns a link that leads to the first event after a version; undefined if there is none. */
  #before(namespace: string | undefined, after: number): Link | undefined {
    let [low, high] = [this.#head, this.#links.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#links[middle]?.resourceVersion ?? 0) <= after) low = middle + 1;
      else high = middle;
    }
    for (let index = low; index < this.#links.length; index++) {
      const link = this.#links[index];
      if (link === undefined || (namespace !== undefined && link.namespace !== namespace)) continue;
      return { ...sentinel(), nextOfAll: link, nextInNamespace: link };
    }
    return undefined;
  }

  #chainOf(namespace: string): Chain {
    let chain = this.#namespaces.get(namespace);
    if (chain === undefined)
      this.#namespaces.set(namespace, (chain = { tail: sentinel(), cursors: new Set() }));
    return chain;
  }

  #forget({ namespace }: Link): void {
    const chain = this.#namespaces.get(namespace);
    if (chain !== undefined) this.#prune(namespace, chain);
  }

  /** Forgets a chain without events and cursors, so that namespaces that are gone cost nothing. */
  #prune(namespace: string, chain: Chain): void {
    if (chain.cursors.size === 0 && chain.tail.line === undefined) this.#namespaces.delete(namespace);
  }
}

function sentinel(): Link {
  return {
    resourceVersion: 0,
    line: undefined,
    isDropped: false,
    nextOfAll: undefined,
    nextInNamespace: undefined,
    namespace: "",
    atMs: 0,
  };
}
