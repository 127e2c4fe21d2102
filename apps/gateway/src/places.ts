/** Bounds what one account has under way at the same moment. No I/O. */

/** Gives places to accounts, to each the same number. It remembers accounts only while they hold one. */
export class Places {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes places until the result is disposed; undefined if the account has too few left. */
  take(account: string, count = 1): Disposable | undefined {
    const taken = this.#taken.get(account) ?? 0;
    if (taken + count > this.#most) return undefined;
    this.#taken.set(account, taken + count);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#giveBack(account, count);
        isHeld = false;
      },
    };
  }

  /** Number of accounts that hold places. */
  get accounts(): number {
    return this.#taken.size;
  }

  #giveBack(account: string, count: number): void {
    const left = (this.#taken.get(account) ?? 0) - count;
    if (left > 0) this.#taken.set(account, left);
    else this.#taken.delete(account);
  }
}
