/**
 * Names of one claimed resource that the provider has an object for which the app cluster cannot have, because it has another one of its own, or because
 * the object does not cross. A key is that of the object
 * in the app cluster. Known only while this process lives: who depends on a name without a decision asks.
 */

/** State of one name; undefined before it is decided. */
export type NameState = "taken" | "typeRefused" | "tooMany" | "free" | undefined;

/** Calls back when a decision changes, and when one is asked for. Remembers the names that are not free and those that somebody asked about. */
export class TakenNames {
  readonly #states = new Map<string, NameState>();
  readonly #changed = new Set<(key: string) => void>();
  readonly #asked = new Set<(key: string) => void>();
  #count = 0;

  /** Number of names that are taken. */
  get count(): number {
    return this.#count;
  }

  /** The names that somebody wants to know about. */
  keys(): Iterable<string> {
    return this.#states.keys();
  }

  state(key: string): NameState {
    return this.#states.get(key);
  }

  /** Asks for a decision, once. */
  ask(key: string): void {
    if (this.#states.has(key)) return;
    this.#states.set(key, undefined);
    for (const handler of this.#asked) handler(key);
  }

  /** Decides; a free name is remembered only if somebody asked about it. */
  decide(key: string, state: NonNullable<NameState>): void {
    if (this.#states.get(key) === state || (state === "free" && !this.#states.has(key))) return;
    if (this.#states.get(key) === "taken") this.#count--;
    if (state === "taken") this.#count++;
    this.#states.set(key, state);
    for (const handler of this.#changed) handler(key);
  }

  /** Calls `handler` with each name that is decided otherwise. */
  onChange(handler: (key: string) => void): Disposable {
    this.#changed.add(handler);
    return { [Symbol.dispose]: () => void this.#changed.delete(handler) };
  }

  /** Calls `handler` with each name that somebody asks about. */
  onAsk(handler: (key: string) => void): Disposable {
    this.#asked.add(handler);
    return { [Symbol.dispose]: () => void this.#asked.delete(handler) };
  }
}
