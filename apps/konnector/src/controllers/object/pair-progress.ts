/** Progress of pairs toward being in sync: how long they differ, fail, wait, and go unanswered. State only: no I/O, no clock of its own. */

/** Result of a reconcile that did not fail. */
export interface PairOutcome {
  /** Nothing differs any more. */
  readonly isSynced: boolean;
  /** The claim's status is to say what it waits for when that is overdue. */
  readonly awaitsStatus: boolean;
  /** The pair waits for a change that it did not cause. */
  readonly isWaiting: boolean;
}

/** Times that a reconcile needs, in milliseconds; undefined where they do not apply. */
export interface PairTimes {
  /** Time for which the pair differed. */
  readonly lagMs: number | undefined;
  /** Monotonic time since which the pair has waited. */
  readonly waitingSince: number | undefined;
  /** Time until the claim's status is to say that its answer is overdue. */
  readonly overdueInMs: number | undefined;
}

/** One pair that is not in sync. Times are monotonic milliseconds. */
interface Difference {
  readonly since: number;
  failures: number;
  waitingSince: number | undefined;
}

/** Remembers pairs only while they differ or wait, and which claims had their first status recorded. Lost without harm on restart. */
export class PairProgress {
  readonly #overdueAfterMs: number;
  readonly #differences = new Map<string, Difference>();
  readonly #unansweredSince = new Map<string, number>();
  readonly #firstStatusRecorded = new Set<string>();

  constructor(overdueAfterMs: number) {
    this.#overdueAfterMs = overdueAfterMs;
  }

  /** Number of pairs that are known to differ. */
  get differing(): number {
    return this.#differences.size;
  }

  /** Returns the pairs of which a step failed since they began to differ. */
  failing(): readonly string[] {
    return [...this.#differences].filter(([, { failures }]) => failures > 0).map(([key]) => key);
  }

  /** Notes that the pair differs. Only the first call counts until it is in sync. */
  differs(key: string, since: number): void {
    if (!this.#differences.has(key))
      this.#differences.set(key, { since, failures: 0, waitingSince: undefined });
  }

  /** Notes that a step failed, and returns how many failed since the pair began to differ. */
  failed(key: string): number {
    const difference = this.#differences.get(key);
    return difference === undefined ? 1 : ++difference.failures;
  }

  /** Notes the outcome of a reconcile that did not fail. */
  ended(key: string, { isSynced, awaitsStatus, isWaiting }: PairOutcome, now: number): PairTimes {
    const difference = this.#differences.get(key);
    if (isSynced) this.#differences.delete(key);
    else if (difference !== undefined)
      difference.waitingSince = isWaiting ? (difference.waitingSince ?? now) : undefined;
    if (!awaitsStatus) this.#unansweredSince.delete(key);
    else if (!this.#unansweredSince.has(key)) this.#unansweredSince.set(key, now);
    return {
      lagMs: isSynced && difference !== undefined ? now - difference.since : undefined,
      waitingSince: isWaiting ? (difference?.waitingSince ?? now) : undefined,
      overdueInMs: awaitsStatus ? this.#overdueInMs(key, now) : undefined,
    };
  }

  /** Returns true if the claim's status is to say that the pair differs, or that its answer is missing. */
  isOverdue(key: string, now: number): boolean {
    return this.#overdueInMs(key, now) === 0;
  }

  /** Returns how long the pair has differed, in milliseconds; 0 when it does not. */
  lagMs(key: string, now: number): number {
    return now - (this.#differences.get(key)?.since ?? now);
  }

  isFirstStatusRecorded(key: string): boolean {
    return this.#firstStatusRecorded.has(key);
  }

  recordedFirstStatus(key: string): void {
    this.#firstStatusRecorded.add(key);
  }

  /** Forgets a pair whose objects are both gone. */
  forget(key: string): void {
    this.#unansweredSince.delete(key);
    this.#differences.delete(key);
    this.#firstStatusRecorded.delete(key);
  }

  #overdueInMs(key: string, now: number): number | undefined {
    const differs = this.#differences.get(key)?.since;
    const unanswered = this.#unansweredSince.get(key);
    if (differs === undefined && unanswered === undefined) return undefined;
    const since = Math.min(differs ?? now, unanswered ?? now);
    return Math.max(0, since + this.#overdueAfterMs - now);
  }
}
