/** Runs one piece of work at a time for each name, in the order in which the pieces came. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs the work after all earlier work of that name, however that ended. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine.catch(() => undefined);
    this.#last.set(name, settled);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    }
  }

  /** Waits until no work is left. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
