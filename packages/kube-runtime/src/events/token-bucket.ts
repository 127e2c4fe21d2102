/** Token bucket: a burst at once, and one more token for each interval. */
import type { Clock } from "@klutch/kube";

/** Full at the beginning. It never waits: who gets none goes without. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #everyMs: number;
  #left: number;
  #refilledAt: number;

  constructor(clock: Clock, { burst, everyMs }: { readonly burst: number; readonly everyMs: number }) {
    this.#clock = clock;
    this.#burst = burst;
    this.#everyMs = everyMs;
    this.#left = burst;
    this.#refilledAt = clock.monotonic();
  }

  /** Takes a token; returns false when there is none. */
  take(): boolean {
    const earned = Math.floor((this.#clock.monotonic() - this.#refilledAt) / this.#everyMs);
    if (earned > 0) {
      this.#left = Math.min(this.#burst, this.#left + earned);
      this.#refilledAt += earned * this.#everyMs;
    }
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }
}
