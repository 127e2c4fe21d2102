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

/** Gives each account turns, to each the same number at the same moment. Those that find none wait, first come, first served. */
export class Turns {
  readonly #most: number;
  readonly #lines = new Map<string, { taken: number; readonly waiting: Set<() => void> }>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Resolves with a turn, which is over when it is disposed. Rejects when the signal aborts before. */
  async take(account: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    const line = this.#lines.get(account) ?? { taken: 0, waiting: new Set<() => void>() };
    this.#lines.set(account, line);
    if (line.taken < this.#most) line.taken++;
    else await turnIn(line.waiting, signal);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        const [next] = line.waiting;
        if (next !== undefined) next();
        else if (--line.taken === 0) this.#lines.delete(account);
      },
    };
  }

  /** Number of accounts that have turns. */
  get accounts(): number {
    return this.#lines.size;
  }
}

/** Resolves when this place in the line is called. */
function turnIn(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(begin);
      reject(signal.reason as Error);
    };
    const begin = (): void => {
      waiting.delete(begin);
      signal.removeEventListener("abort", leave);
      resolve();
    };
    waiting.add(begin);
    signal.addEventListener("abort", leave, { once: true });
  });
}
