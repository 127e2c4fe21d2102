/** One piece of work at a time for each name, in the order in which they came. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Waits for all that came before, however it ended. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
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
}
