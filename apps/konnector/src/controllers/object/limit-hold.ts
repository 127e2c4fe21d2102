/**
 * Claims of one API that the provider refused because the app cluster may have no more of it. They wait, say so, and are sent again a few at a
 * time: as many as there is room for when the limit or the use changes, two more after each that went up, and one from time to time, because a
 * quota may have room of which the provider has not told. Those that a new quota refused before the provider counted for it wait in the same way, with
 * other words, and for seconds only. State only: no I/O, no clock of its own.
 */
import { type ApiLimit, isLimitReached, limitWords } from "@klutch/api";
import type { QuotaRefusal } from "@klutch/kube";
import { jsonEqual } from "@klutch/kube-core";
import type { ObservedPair, Step } from "@klutch/sync";

/** Wait before the first claim is sent again although nothing changed; it doubles up to `LimitHoldOptions.retryMs`. */
const firstRetryMs = 1_000;
/** Longest wait between two attempts while the provider counts, which it does for half a minute at most. */
const countingRetryMs = 4_000;

/** Options of a hold. */
export interface LimitHoldOptions {
  /** Plural name of the resource. */
  readonly plural: string;
  /** Longest wait between two attempts of which nothing is known that speaks for them, in milliseconds. */
  readonly retryMs: number;
  /** Called with claims that are to be reconciled: to be sent again, or to show other words. */
  readonly wake: (keys: readonly string[]) => void;
  /** Called when the number of upstream objects may have changed, or a claim was refused. */
  readonly onChange: () => void;
}

/** A quota of the provider refused to create the object of a claim, which is held from now on. */
export class LimitReachedError extends Error {
  readonly code = "LimitReached";

  constructor(cause: unknown) {
    super("a quota of the provider refused the object", { cause });
    this.name = "LimitReachedError";
  }
}

/** Returns true if the step makes a new object on the provider, which a limit may refuse. */
export function isCreate({ provider }: Pick<ObservedPair, "provider">, step: Step): boolean {
  return step.do === "applyProvider" && provider === undefined;
}

/** Remembers which claims wait. Lost without harm on restart: each is sent once, and refused again. */
export class LimitHold {
  readonly #options: LimitHoldOptions;
  #limit: ApiLimit | undefined;
  /** Claims that wait, the longest first. */
  readonly #held = new Set<string>();
  /** The part of them that waits for the provider's count. */
  readonly #counting = new Set<string>();
  /** Claims that were refused and are sent again. */
  readonly #tried = new Set<string>();
  #retryMs = firstRetryMs;
  /** Monotonic milliseconds. */
  #retryAt: number | undefined;

  constructor(options: LimitHoldOptions) {
    this.#options = options;
  }

  /** Returns why the claim with this key waits, as a sentence; undefined if it does not wait for room. */
  wordsFor(key: string): string | undefined {
    return this.#held.has(key) && !this.#counting.has(key) ? this.#words : undefined;
  }

  /** Returns true if the claim with this key waits until the provider has counted. */
  awaitsCount(key: string): boolean {
    return this.#counting.has(key);
  }

  /** Holds a claim whose object was refused. */
  refused(key: string, refusal: QuotaRefusal): void {
    this.#tried.delete(key);
    this.#held.add(key);
    if (refusal === "NotCounted") this.#counting.add(key);
    else this.#counting.delete(key);
    this.#options.onChange();
  }

  /** Notes that a claim's object was created: there may be room for others that wait. */
  created(key: string): void {
    this.#held.delete(key);
    this.#counting.delete(key);
    if (this.#tried.delete(key)) this.#release(2);
  }

  /** Forgets a claim that is gone. */
  forget(key: string): void {
    this.#held.delete(key);
    this.#counting.delete(key);
    this.#tried.delete(key);
  }

  /** Notes that an upstream object appeared or went, which matters only under a limit. */
  counted(): void {
    if (this.#limit !== undefined) this.#options.onChange();
  }

  /** Takes the limit with the present use; undefined when there is none. */
  set(limit: ApiLimit | undefined): void {
    if (jsonEqual(limit, this.#limit)) return;
    const words = this.#words;
    this.#limit = limit;
    this.#retryMs = firstRetryMs;
    this.#retryAt = undefined;
    const room = limit === undefined ? 1 : limit.max - limit.used;
    this.#release(room - this.#tried.size);
    if (words !== this.#words) this.#options.wake([...this.#held]);
  }

  /** Sends one claim again if that is due. Returns the milliseconds until the next one; undefined while none waits. */
  retry(now: number): number | undefined {
    if (this.#held.size === 0) {
      this.#retryMs = firstRetryMs;
      this.#retryAt = undefined;
      return undefined;
    }
    this.#retryAt ??= now + this.#retryMs;
    if (this.#retryAt <= now) {
      const { retryMs } = this.#options;
      const longestMs = this.#counting.size > 0 ? Math.min(countingRetryMs, retryMs) : retryMs;
      this.#release(1);
      this.#retryMs = Math.min(this.#retryMs * 2, longestMs);
      this.#retryAt = now + this.#retryMs;
    }
    return this.#retryAt - now;
  }

  /** The provider counts at least as many as it allows when it refuses one, even if it has not told so yet. */
  get #words(): string {
    const limit = this.#limit;
    if (limit === undefined)
      return `the provider takes no more ${this.#options.plural} of this cluster; ask the platform team`;
    return limitWords(isLimitReached(limit) ? limit : { ...limit, used: limit.max }, this.#options.plural);
  }

  #release(count: number): void {
    const keys = [...this.#held.values().take(Math.max(0, count))];
    for (const key of keys) {
      this.#held.delete(key);
      this.#counting.delete(key);
      this.#tried.add(key);
    }
    if (keys.length > 0) this.#options.wake(keys);
  }
}
