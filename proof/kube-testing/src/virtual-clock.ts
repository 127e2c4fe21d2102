/** Time that passes only when a test moves it, for simulations and for tests of back-off, leases and deadlines. */
import { setImmediate as turn } from "node:timers/promises";
import { abortableSleep, type Clock, type Random } from "@klutch/kube";
import { Heap, type HeapEntry } from "@klutch/kube-core";

/** Options of a virtual clock. */
export interface VirtualClockOptions {
  /** The value of `now()` at the beginning. Default 2026-01-01T00:00:00Z. */
  readonly startMs?: number | undefined;
  /** Orders timers that are due at the same instant. Default: in the order in which they were set. */
  readonly tieBreak?: Random | undefined;
}

/** Options of `VirtualClock.run`. */
export interface RunOptions {
  /** Stop at this `monotonic()` time, having fired everything due by then. */
  readonly untilMs: number;
  /** Stop early as soon as this holds; asked after each instant's microtasks. */
  readonly until?: (() => boolean) | undefined;
}

interface Timer extends HeapEntry {
  readonly dueAt: number;
  readonly rank: number;
  readonly sequence: number;
  readonly callback: () => void;
  isCancelled: boolean;
}

const defaultStartMs = Date.UTC(2026, 0, 1);
const maxTurns = 10_000;
const maxTimersAtOneInstant = 1_000_000;

/**
 * A clock whose time is moved by `advance` and `run`. Between two timers all promises settle, so a run with the same inputs takes
 * the same course. Real I/O is not waited for: there must be none.
 */
export class VirtualClock implements Clock {
  readonly #heap = new Heap<Timer>(isEarlier);
  readonly #startMs: number;
  readonly #tieBreak: Random | undefined;
  #monotonic = 0;
  #skewMs = 0;
  #sequence = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#startMs = options.startMs ?? defaultStartMs;
    this.#tieBreak = options.tieBreak;
  }

  now(): number {
    return this.#startMs + this.#skewMs + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** `monotonic()` time of the next timer; undefined when none is set. */
  get nextDueAt(): number | undefined {
    return this.#peek()?.dueAt;
  }

  /** Moves the wall clock by this time; durations do not change. */
  skew(byMs: number): void {
    this.#skewMs += byMs;
  }

  sleep(delayMs: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<void> {
    return abortableSleep((wake) => this.schedule(delayMs, wake), options?.signal);
  }

  schedule(delayMs: number, callback: () => void): () => void {
    const timer: Timer = {
      dueAt: this.#monotonic + (delayMs > 0 ? delayMs : 0),
      rank: this.#tieBreak?.() ?? 0,
      sequence: this.#sequence++,
      callback,
      isCancelled: false,
      index: 0,
    };
    this.#heap.add(timer);
    return () => {
      timer.isCancelled = true;
    };
  }

  /** Lets `byMs` pass. */
  async advance(byMs: number): Promise<void> {
    await this.run({ untilMs: this.#monotonic + byMs });
  }

  /** Fires timers one by one, letting promises settle before each. True when it ended because `until` held. */
  async run(options: RunOptions): Promise<boolean> {
    let atThisInstant = 0;
    for (;;) {
      await settle();
      if (options.until?.() === true) return true;
      const timer = this.#peek();
      if (timer === undefined || timer.dueAt > options.untilMs) break;
      atThisInstant = timer.dueAt > this.#monotonic ? 0 : atThisInstant + 1;
      if (atThisInstant > maxTimersAtOneInstant) {
        throw new Error(`time stands still at ${this.#monotonic} ms: something waits 0 ms in a loop`);
      }
      this.#heap.takeFirst();
      this.#monotonic = Math.max(this.#monotonic, timer.dueAt);
      timer.callback();
    }
    this.#monotonic = Math.max(this.#monotonic, options.untilMs);
    return false;
  }

  /** Runs until the promise is settled, at most `withinMs` of virtual time, and returns its outcome. */
  async resolve<T>(promise: Promise<T>, withinMs = 3_600_000): Promise<T> {
    let isSettled = false;
    const mark = (): void => {
      isSettled = true;
    };
    promise.then(mark, mark);
    const untilMs = this.#monotonic + withinMs;
    if (await this.run({ untilMs, until: () => isSettled })) return promise;
    throw new Error(`still waiting after ${withinMs} virtual ms`);
  }

  #peek(): Timer | undefined {
    while (this.#heap.first?.isCancelled === true) this.#heap.takeFirst();
    return this.#heap.first;
  }
}

/** Waits for turns of the event loop until no promise reaction is left; code that yields by `setImmediate` gets its turns too. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < maxTurns; turns++) {
    await turn();
    if (!process.getActiveResourcesInfo().includes("Immediate")) return;
  }
}

function isEarlier(left: Timer, right: Timer): boolean {
  if (left.dueAt !== right.dueAt) return left.dueAt < right.dueAt;
  if (left.rank !== right.rank) return left.rank < right.rank;
  return left.sequence < right.sequence;
}
