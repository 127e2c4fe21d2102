/**
 * Keys that wait for work. A key waits at most once and is never handed out while it is being worked on: if it is added again
 * meanwhile, it comes back after `done`. Priorities let what a person did overtake bulk work; each priority is first in, first out.
 */
import { type Clock, type Random, systemClock, systemRandom } from "@klutch/kube";
import { backoffLimit } from "../backoff.ts";
import { DelayHeap } from "./delay-heap.ts";

/** Importance of a key, highest first. Default `normal`. */
export type Priority = "high" | "normal" | "low";

/** Learns what happens to keys, for metrics. */
export interface QueueObserver {
  /** The key is to be worked on. Also called again for one that waits already. */
  added(key: string): void;
  /** Work on the key begins. */
  taken(key: string): void;
  done(key: string): void;
  /** A key is to be worked on again after a failure. */
  retried(): void;
}

/** Options of a queue. */
export interface WorkQueueOptions {
  readonly observer?: QueueObserver | undefined;
  /** First wait after a failure. Default 5. */
  readonly baseDelayMs?: number | undefined;
  /** Longest wait after failures. Default 60 000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Most keys taken from the priority and lower ones that may be worked on at the same time; no priority's may be greater than
   * that of a higher one. Default: any number.
   */
  readonly maxConcurrent?: ((priority: Priority) => number) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

const priorities: readonly Priority[] = ["high", "normal", "low"];
/** Every so many keys the lowest priority goes first, so that none starves. */
const fairTurn = 8;

/** The keys of one priority. */
class Waiting<K extends string> {
  readonly #keys = new Set<K>();
  /** Goes on where it stopped: a new one would have to step over everything that was taken since the set last grew. */
  #next = this.#keys.values();

  get size(): number {
    return this.#keys.size;
  }

  has(key: K): boolean {
    return this.#keys.has(key);
  }

  add(key: K): void {
    this.#keys.add(key);
  }

  delete(key: K): void {
    this.#keys.delete(key);
  }

  /** Takes the key that has waited longest. */
  shift(): K | undefined {
    let first = this.#next.next();
    if (first.done === true && this.#keys.size > 0) {
      this.#next = this.#keys.values();
      first = this.#next.next();
    }
    if (first.done === true) return undefined;
    this.#keys.delete(first.value);
    return first.value;
  }
}

/** Guarantees one worker for each key, and none that starves. Does not start workers: they call `get` and `done`. */
export class WorkQueue<K extends string = string> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: { readonly baseMs: number; readonly capMs: number };
  readonly #maxConcurrent: (priority: Priority) => number;
  readonly #waiting = new Map<Priority, Waiting<K>>(priorities.map((priority) => [priority, new Waiting()]));
  /** With the priority that it was taken from. */
  readonly #working = new Map<K, Priority>();
  /** Added again while being worked on, with the priority to come back in. */
  readonly #again = new Map<K, Priority>();
  readonly #failures = new Map<K, number>();
  readonly #delayed = new DelayHeap<K, Priority>();
  readonly #observer: QueueObserver | undefined;
  readonly #waiters: ((key: K | undefined) => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #timerDueAt = Number.POSITIVE_INFINITY;
  #gets = 0;
  #isShutDown = false;

  constructor(options: WorkQueueOptions = {}) {
    this.#observer = options.observer;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#limits = { baseMs: options.baseDelayMs ?? 5, capMs: options.maxDelayMs ?? 60_000 };
    this.#maxConcurrent = options.maxConcurrent ?? (() => Number.POSITIVE_INFINITY);
  }

  /** Keys that wait to be taken. */
  get size(): number {
    return priorities.reduce((sum, priority) => sum + this.#waitingAt(priority).size, 0);
  }

  /** Keys that wait for their time. */
  get delayedSize(): number {
    return this.#delayed.size;
  }

  /** Keys that are being worked on. */
  get workingSize(): number {
    return this.#working.size;
  }

  /** Adds the key, or moves it to a higher priority. Default priority `normal`. */
  add(key: K, options: { readonly priority?: Priority | undefined } = {}): void {
    if (this.#isShutDown) return;
    this.#observer?.added(key);
    const priority = options.priority ?? "normal";
    if (this.#working.has(key)) {
      this.#again.set(key, higherOf(priority, this.#again.get(key)));
      return;
    }
    const present = priorities.find((candidate) => this.#waitingAt(candidate).has(key));
    if (present !== undefined && priorities.indexOf(present) <= priorities.indexOf(priority)) return;
    if (present !== undefined) this.#waitingAt(present).delete(key);
    this.#waitingAt(priority).add(key);
    this.#handOut();
  }

  /**
   * Adds the key after `delayMs`. Default priority: while it is worked on the one it was taken from, otherwise `normal`. A key waits for
   * one time only, the earliest that was asked for, in the highest priority: the result of that reconcile decides about the next.
   */
  addAfter(key: K, delayMs: number, options: { readonly priority?: Priority | undefined } = {}): void {
    if (this.#isShutDown) return;
    const priority = options.priority ?? this.#working.get(key) ?? "normal";
    if (delayMs <= 0) {
      this.add(key, { priority });
      return;
    }
    const dueAt = this.#clock.monotonic() + delayMs;
    const present = this.#delayed.get(key);
    if (present === undefined) this.#delayed.set(key, dueAt, priority);
    else this.#delayed.set(key, Math.min(dueAt, present.dueAt), higherOf(priority, present.item));
    this.#armTimer();
  }

  /** Adds the key after a wait that grows from `baseMs` with each call until `forget`; priorities as `addAfter`. Gives back the wait. */
  addRateLimited(
    key: K,
    options: {
      readonly priority?: Priority | undefined;
      readonly atLeastMs?: number | undefined;
      /** Default: the queue's. */
      readonly baseMs?: number | undefined;
    } = {},
  ): number {
    this.#observer?.retried();
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const { baseMs = this.#limits.baseMs } = options;
    const upper = backoffLimit({ ...this.#limits, baseMs }, failures);
    const delayMs = Math.max(options.atLeastMs ?? 0, upper * (0.5 + this.#random() * 0.5));
    this.addAfter(key, delayMs, options);
    return delayMs;
  }

  /** The key's work succeeded: its next failure waits shortly again. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /** Failures since the last `forget`. */
  failuresOf(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Waits for a key; undefined when the queue was shut down or the signal aborted. Call `done` when its work ended. */
  get(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<K | undefined> {
    const { signal } = options;
    if (this.#isShutDown || signal?.aborted === true) return Promise.resolve(undefined);
    const key = this.#next();
    if (key !== undefined) return Promise.resolve(key);
    const { promise, resolve } = Promise.withResolvers<K | undefined>();
    const waiter = (taken: K | undefined): void => {
      signal?.removeEventListener("abort", onAbort);
      resolve(taken);
    };
    const onAbort = (): void => {
      const index = this.#waiters.indexOf(waiter);
      if (index >= 0) this.#waiters.splice(index, 1);
      resolve(undefined);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiters.push(waiter);
    return promise;
  }

  /** The key's work ended, well or not. */
  done(key: K): void {
    this.#observer?.done(key);
    this.#working.delete(key);
    const priority = this.#again.get(key);
    this.#again.delete(key);
    if (priority !== undefined) this.add(key, { priority });
    // Not at once: the worker that calls this is awake, and may take its next key before another is woken for it.
    queueMicrotask(() => this.#handOut());
  }

  /** Takes end with undefined; nothing is added any more. */
  shutDown(): void {
    this.#isShutDown = true;
    this.#cancelTimer?.();
    for (const waiter of this.#waiters.splice(0)) waiter(undefined);
  }

  #waitingAt(priority: Priority): Waiting<K> {
    const waiting = this.#waiting.get(priority);
    if (waiting === undefined) throw new RangeError(`unknown priority ${priority}`);
    return waiting;
  }

  #handOut(): void {
    while (this.#waiters.length > 0) {
      const key = this.#next();
      if (key === undefined) return;
      this.#waiters.shift()?.(key);
    }
  }

  #next(): K | undefined {
    const open = this.#openPriorities();
    const order = ++this.#gets % fairTurn === 0 ? open.toReversed() : open;
    for (const priority of order) {
      const key = this.#waitingAt(priority).shift();
      if (key === undefined) continue;
      this.#working.set(key, priority);
      this.#observer?.taken(key);
      return key;
    }
    this.#gets--;
    return undefined;
  }

  /** Priorities that may give a key now, highest first. A priority that is full closes all lower ones: theirs count in it. */
  #openPriorities(): Priority[] {
    const open: Priority[] = [];
    let taken = this.#working.size;
    for (const priority of priorities) {
      if (taken >= this.#maxConcurrent(priority)) break;
      open.push(priority);
      for (const from of this.#working.values()) if (from === priority) taken--;
    }
    return open;
  }

  /** One timer for all delayed keys, set to the earliest. */
  #armTimer(): void {
    const dueAt = this.#delayed.nextDueAt;
    if (dueAt === undefined || dueAt >= this.#timerDueAt) return;
    this.#cancelTimer?.();
    this.#timerDueAt = dueAt;
    this.#cancelTimer = this.#clock.schedule(Math.max(0, dueAt - this.#clock.monotonic()), () =>
      this.#onTimer(),
    );
  }

  #onTimer(): void {
    this.#timerDueAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    for (let due = this.#delayed.popDue(now); due !== undefined; due = this.#delayed.popDue(now)) {
      this.add(due.key, { priority: due.item });
    }
    this.#armTimer();
  }
}

function higherOf(left: Priority, right: Priority | undefined): Priority {
  return right !== undefined && priorities.indexOf(right) < priorities.indexOf(left) ? right : left;
}
