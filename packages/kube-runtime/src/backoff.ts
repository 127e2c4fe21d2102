/** Exponential back-off with full jitter. */
import type { Random } from "@klutch/kube";

/** Bounds of the waits, in milliseconds. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
  readonly random: Random;
}

/**
 * Waits between the base and an upper bound, which is twice the base first and doubles with each failure until it is reset. So also the first
 * wait differs: many who lost the same server at the same moment do not come back at the same moment.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The next wait in milliseconds. */
  next(): number {
    const { baseMs, random } = this.#options;
    const upper = backoffLimit(this.#options, ++this.#failures);
    return baseMs + random() * (upper - baseMs);
  }

  reset(): void {
    this.#failures = 0;
  }
}

/** Upper bound of the wait after `failures` failures before this one. */
export function backoffLimit(
  options: { readonly baseMs: number; readonly capMs: number },
  failures: number,
): number {
  return Math.min(options.capMs, options.baseMs * 2 ** Math.min(failures, 30));
}
