/** Limits how often a broker is asked for a resource at rest, however often that is reconciled. */
import type { Clock } from "@klutch/kube";

/** Options of `RestPace`. */
export interface RestPaceOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** The shortest time between two questions for the same thing. */
  readonly intervalMs: number;
}

/** Remembers when each thing was last asked for. What it forgets, such as with its process, is asked for once more. */
export class RestPace {
  readonly #options: RestPaceOptions;
  /** By key, in the order of asking. */
  readonly #askedAt = new Map<string, number>();

  constructor(options: RestPaceOptions) {
    this.#options = options;
  }

  isDue(key: string): boolean {
    const askedAt = this.#askedAt.get(key);
    return askedAt === undefined || this.#now() - askedAt >= this.#options.intervalMs;
  }

  /** The broker just answered. */
  asked(key: string): void {
    this.#askedAt.delete(key);
    this.#askedAt.set(key, this.#now());
    // A key that is due needs no memory, and the oldest come first.
    for (const [eldest] of this.#askedAt) {
      if (!this.isDue(eldest)) break;
      this.#askedAt.delete(eldest);
    }
  }

  /** Something changed: it is due. */
  forget(key: string): void {
    this.#askedAt.delete(key);
  }

  /** Things that are remembered. */
  get size(): number {
    return this.#askedAt.size;
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }
}
