/** Requests to work on a key: how important they are, and why they are made. */

/** Importance of a key, highest first. Default `normal`. */
export type Priority = "high" | "normal" | "low";

/** Text of a closed set that says why a key is added: no names and no numbers in it, so that log lines can be counted by reason. */
export type WakeReason = string;

/** Requests for one key since it was last taken, as its worker sees them. */
export interface Wake {
  /** The first distinct reasons, oldest first; at most `mostReasons`. */
  readonly reasons: readonly WakeReason[];
  /** Number of requests, including those whose reason is not listed. */
  readonly requests: number;
}

/** Most distinct reasons that a waiting key keeps: enough for a log line, however often the key is added. */
export const mostReasons = 4;

/** Collects the requests for one key until it is taken. One object per key: a list of reasons is made for the second distinct one only. */
export class PendingKey implements Wake {
  /** Highest priority of the requests. */
  priority: Priority;
  requests = 1;
  readonly #first: string;
  #others: string[] | undefined;

  constructor(priority: Priority, reason: WakeReason) {
    this.priority = priority;
    this.#first = reason;
  }

  get reasons(): readonly WakeReason[] {
    return this.#others === undefined ? [this.#first] : [this.#first, ...this.#others];
  }

  /** Counts one more request. */
  add(reason: WakeReason): void {
    this.requests++;
    if (reason === this.#first) return;
    this.#others ??= [];
    if (this.#others.length < mostReasons - 1 && !this.#others.includes(reason)) this.#others.push(reason);
  }
}
