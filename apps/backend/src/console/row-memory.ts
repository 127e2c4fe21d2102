/** Remembers rows with the text that is sent: a row that comes out the same keeps its text, so that a comparison finds what changed. */
import type { Collection, RowOf } from "@klutch/overview";

/** A row with the text that is sent. */
export interface Entry<R = RowOf[Collection]> {
  readonly row: R;
  readonly text: string;
}

/** A row that is made only if what it follows from has changed; the first of these is its object, if it has one. */
export interface Reading<R> {
  readonly deps: readonly unknown[];
  readonly make: () => readonly R[];
}

/** Rows of one object, and all that they were derived from. */
interface Known {
  readonly deps: readonly unknown[];
  readonly entries: readonly Entry[];
}

/** The rows of the last time by their ids, and by the object that they were derived from. */
export class RowMemory {
  readonly #before = new Map<Collection, ReadonlyMap<string, Entry>>();
  readonly #bySource = new Map<Collection, WeakMap<object, Known>>();

  /** Derives the rows of a collection. Rows of objects whose dependencies are the same are taken as they were. */
  collect<C extends Collection, S>(
    collection: C,
    sources: Iterable<S>,
    read: (source: S) => Reading<RowOf[C]> | undefined,
  ): ReadonlyMap<string, Entry<RowOf[C]>> {
    const before = this.#before.get(collection);
    const bySource = this.#bySource.get(collection) ?? new WeakMap<object, Known>();
    this.#bySource.set(collection, bySource);
    const entries = new Map<string, Entry<RowOf[C]>>();
    for (const source of sources) {
      const reading = read(source);
      if (reading === undefined) continue;
      const { deps, make } = reading;
      const key = sourceOf(deps);
      const known = key === undefined ? undefined : bySource.get(key);
      const isSame = known !== undefined && known.deps.every((one, index) => one === deps[index]);
      const made = isSame ? known.entries : make().map((row): Entry => entryOf(row, before?.get(row.id)));
      if (key !== undefined && !isSame) bySource.set(key, { deps, entries: made });
      for (const entry of made) entries.set(entry.row.id, entry as Entry<RowOf[C]>);
    }
    this.#before.set(collection, entries);
    return entries;
  }
}

function sourceOf([first]: readonly unknown[]): object | undefined {
  return typeof first === "object" && first !== null ? first : undefined;
}

function entryOf<R extends RowOf[Collection]>(row: R, before: Entry | undefined): Entry {
  const text = JSON.stringify(row);
  return before?.text === text ? before : { row, text };
}
