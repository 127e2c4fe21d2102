/** Adapts the number of keys that a controller works on at the same time to the time that their requests take. */
import { type Clock, systemClock } from "@klutch/kube";
import type { Priority } from "./wake.ts";

/** Initial and lowest limit: a server with two cores is busy with this many requests. */
const fewest = 8;
/** Each holds an object's content in memory. */
const most = 32;
/** While a smaller share of the time is spent in queues, there is room for more. */
const idleShare = 0.25;
/** With a greater one everybody only waits longer. */
const busyShare = 0.4;
/** Bulk work leaves a quarter to what people do, who may have another quarter on top. */
const shares: Readonly<Record<Priority, number>> = { low: 0.75, normal: 1, high: 1.25 };
/** Weight of what was seen before when a request ends. */
const memory = 0.95;
/** A way that became longer is known as such after two of these. */
const windowMs = 60_000;

/**
 * Works as TCP Vegas does with packets (Brakmo and Peterson 1994): what a request takes beyond the shortest of its kind it has spent in
 * a queue, the servers' or our own. A server that is busy gets no more than it takes, and one that is far away gets enough to fill the
 * way to it. Starts at 8 keys, never goes below, and ends at 32.
 *
 * It is not the limit of requests that kube's client has for each API server, and does not take its place. That one is shared by all
 * controllers, knows nothing of priorities, and stops at a 429. This one belongs to one controller, so that a resource whose webhook
 * hangs does not take the places of the others, and it holds keys back before anything is read for them. It must see the time that a
 * request waits in the client's limit, because that is a queue, too: so latency is observed around the client and not inside it.
 */
export class ConcurrencyLimit {
  /** Keys worked on at the same time are never more. */
  static readonly max: number = Math.ceil(most * shares.high);

  readonly #clock: Clock;
  readonly #shortest = new Map<string, Shortest>();
  #limit = fewest;
  /** Sums over the last requests, in milliseconds: what they took, and what they would have taken without queues. */
  #tookMs = 0;
  #neededMs = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Most keys of this priority and lower ones that should be worked on at the same time. */
  maxConcurrent(priority: Priority): number {
    return Math.floor(this.#limit * shares[priority]);
  }

  /** A request ended well. `kind`: requests of one kind take equally long when the server is idle. `atOnce`: keys worked on. */
  observe(kind: string, tookMs: number, atOnce: number): void {
    let shortest = this.#shortest.get(kind);
    if (shortest === undefined) this.#shortest.set(kind, (shortest = new Shortest()));
    const neededMs = shortest.after(tookMs, this.#clock.monotonic());
    this.#tookMs = this.#tookMs * memory + tookMs;
    this.#neededMs = this.#neededMs * memory + neededMs;
    const queuedShare = this.#tookMs === 0 ? 0 : 1 - this.#neededMs / this.#tookMs;
    // By one for each round of requests.
    if (queuedShare > busyShare) this.#limit = Math.max(fewest, this.#limit - 1 / this.#limit);
    else if (queuedShare < idleShare && atOnce >= this.maxConcurrent("low")) {
      this.#limit = Math.min(most, this.#limit + 1 / this.#limit);
    }
  }
}

/** The shortest time in this window and the one before. */
class Shortest {
  #now = Number.POSITIVE_INFINITY;
  #before = Number.POSITIVE_INFINITY;
  #endsAt = Number.NEGATIVE_INFINITY;

  after(tookMs: number, now: number): number {
    if (now >= this.#endsAt) {
      this.#before = this.#now;
      this.#now = Number.POSITIVE_INFINITY;
      this.#endsAt = now + windowMs;
    }
    this.#now = Math.min(this.#now, tookMs);
    return Math.min(this.#now, this.#before);
  }
}
