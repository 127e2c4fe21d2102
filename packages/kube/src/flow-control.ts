/**
 * How many requests to one API server may be in flight. No fixed rate: the limit grows by about one for each round of
 * successes while it is in use, shrinks when answers get slower than they were, and drops at once when the server asks for
 * less (429), after which nothing is sent until its Retry-After has passed.
 */
import type { Clock } from "./clock.ts";

/** Bounds of the limit. */
export interface FlowControlOptions {
  /** Default 4. */
  readonly minInFlight?: number | undefined;
  /** Default 64. */
  readonly maxInFlight?: number | undefined;
  /** Initial limit. Default 16. */
  readonly initialInFlight?: number | undefined;
}

/** Permission for one request; give it back exactly once. */
export interface FlowPermit {
  /** The request ended. `latencyMs` only for short requests that succeeded: lists say nothing about load. */
  done(outcome: { readonly latencyMs?: number; readonly throttledForMs?: number }): void;
}

/** Answers slower than this multiple of the usual mean that the server is queueing. */
const slowFactor = 3;
const slowFloorMs = 25;
const shrinkOnSlow = 0.97;
const shrinkOnThrottle = 0.6;
/** Weight of a new sample in the usual latency. */
const smoothing = 0.05;

/** One limiter for one API server. First come, first served; ordering by importance belongs to the work queue. */
export class FlowControl {
  readonly #min: number;
  readonly #max: number;
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #limit: number;
  #inFlight = 0;
  #usualMs: number | undefined;
  #pausedUntil = 0;
  #wakeScheduled = false;

  constructor(options: FlowControlOptions, clock: Clock) {
    this.#min = options.minInFlight ?? 4;
    this.#max = options.maxInFlight ?? 64;
    this.#limit = options.initialInFlight ?? 16;
    this.#clock = clock;
  }

  /** The present limit, for metrics. */
  get limit(): number {
    return this.#limit;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Waits for a permit; rejects with the signal's reason when aborted first. */
  async acquire(signal?: AbortSignal): Promise<FlowPermit> {
    signal?.throwIfAborted();
    if (this.#waiting.length > 0 || !this.#free()) await this.#wait(signal);
    else this.#inFlight++;
    let given = false;
    return {
      done: (outcome) => {
        if (given) return;
        given = true;
        this.#inFlight--;
        this.#adapt(outcome.latencyMs, outcome.throttledForMs);
        this.#wake();
      },
    };
  }

  #free(): boolean {
    return this.#inFlight < Math.floor(this.#limit) && this.#clock.monotonic() >= this.#pausedUntil;
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const start = (): void => {
      signal?.removeEventListener("abort", onAbort);
      this.#inFlight++;
      resolve();
    };
    const onAbort = (): void => {
      const index = this.#waiting.indexOf(start);
      if (index >= 0) this.#waiting.splice(index, 1);
      reject(
        signal?.reason instanceof Error ? signal.reason : new Error("aborted", { cause: signal?.reason }),
      );
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiting.push(start);
    this.#wake();
    return promise;
  }

  #wake(): void {
    while (this.#waiting.length > 0 && this.#free()) this.#waiting.shift()?.();
    const pauseMs = this.#pausedUntil - this.#clock.monotonic();
    if (this.#waiting.length === 0 || pauseMs <= 0 || this.#wakeScheduled) return;
    this.#wakeScheduled = true;
    this.#clock.schedule(pauseMs, () => {
      this.#wakeScheduled = false;
      this.#wake();
    });
  }

  #adapt(latencyMs: number | undefined, throttledForMs: number | undefined): void {
    if (throttledForMs !== undefined) {
      this.#limit = Math.max(this.#min, this.#limit * shrinkOnThrottle);
      this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + throttledForMs);
      return;
    }
    if (latencyMs === undefined) return;
    const usual = this.#usualMs ?? latencyMs;
    if (latencyMs > usual * slowFactor + slowFloorMs) {
      this.#limit = Math.max(this.#min, this.#limit * shrinkOnSlow);
    } else if (this.#inFlight + 1 >= Math.floor(this.#limit)) {
      this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
    }
    // Queueing of our own making must not become the new usual: falls are taken at once, rises slowly.
    this.#usualMs =
      latencyMs < usual ? usual + (latencyMs - usual) * 0.3 : usual + (latencyMs - usual) * smoothing * 0.2;
  }
}
