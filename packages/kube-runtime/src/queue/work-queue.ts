/**
 * Queue of keys that wait for work. A key waits at most once and is never handed out while it is being worked on: if it is added again
 * meanwhile, it comes back after `done`. Priorities let a person's change overtake bulk work; each priority is first in, first out, or in turns of groups.
 */
import { type Clock, type Random, systemClock, systemRandom } from "@klutch/kube";
import { backoffLimit } from "../backoff.ts";
import { DelayHeap } from "./delay-heap.ts";
import { FirstInFirstOut, type Groups, RoundRobin, type Waiting } from "./waiting.ts";
import { PendingKey, type Priority, type Wake, type WakeReason } from "./wake.ts";

/** Receives what happens to keys, for metrics. */
export interface QueueObserver {
  /** Called when a key is added, also when it waits already. */
  added(key: string): void;
  /** Called when work on the key begins. */
  taken(key: string): void;
  done(key: string): void;
  /** Called when a key is to be worked on again after a failure. */
  retried(): void;
}

/** Options of a request to work on a key. */
export interface AddOptions {
  readonly priority?: Priority | undefined;
  /** Default `enqueued`. */
  readonly reason?: WakeReason | undefined;
}

/** Options of a queue. */
export interface WorkQueueOptions {
  readonly observer?: QueueObserver | undefined;
  /** First wait after a failure. Default 5. */
  readonly baseDelayMs?: number | undefined;
  /** Longest wait after failures. Default 60 000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Limits how many keys of this priority and lower ones are worked on at the same time; a priority's limit must not exceed that of
   * a higher one. Default: no limit.
   */
  readonly maxConcurrent?: ((priority: Priority) => number) | undefined;
  /** Lets groups of keys take turns within a priority. Default: all keys are one group. */
  readonly groups?: Groups | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

const priorities: readonly Priority[] = ["high", "normal", "low"];
const rank: Readonly<Record<Priority, number>> = { high: 0, normal: 1, low: 2 };
/** One key in this many is taken from the lowest priority first, so that none starves. */
const fairTurn = 8;
/** A group with many keys rests no longer than this after one of them. */
const longestRestMs = 1_000;

/** A request that waits for its time. */
interface Request {
  readonly priority: Priority;
  readonly reason: WakeReason | undefined;
}

/** Guarantees one worker per key and that no key starves. Does not start workers: they call `get` and `done`. */
export class WorkQueue<K extends string = string> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: { readonly baseMs: number; readonly capMs: number };
  readonly #maxConcurrent: (priority: Priority) => number;
  readonly #waiting: ReadonlyMap<Priority, Waiting<K>>;
  /** Keys that wait, and keys that were added again while being worked on. */
  readonly #pending = new Map<K, PendingKey>();
  /** Keys that are being worked on, as they were taken. */
  readonly #working = new Map<K, PendingKey>();
  readonly #groups: Groups | undefined;
  /** Number of keys of each group that are being worked on. */
  readonly #workingOf = new Map<string, number>();
  /** When the work on each of them began. */
  readonly #began = new Map<K, number>();
  readonly #resting = new Set<string>();
  readonly #failures = new Map<K, number>();
  readonly #delayed = new DelayHeap<K, Request>();
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
    const { groups } = options;
    this.#groups = groups;
    const isFull = (group: string): boolean =>
      this.#resting.has(group) || (this.#workingOf.get(group) ?? 0) >= (groups?.atOnce ?? 0);
    this.#waiting = new Map(
      priorities.map((priority) => [
        priority,
        groups === undefined ? new FirstInFirstOut<K>() : new RoundRobin<K>(groups.of, isFull),
      ]),
    );
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

  /** Adds the key, or moves it to a higher priority and keeps the reason. Default priority `normal`. */
  add(key: K, { priority = "normal", reason = "enqueued" }: AddOptions = {}): void {
    if (this.#isShutDown) return;
    this.#observer?.added(key);
    const pending = this.#pending.get(key);
    if (pending === undefined) {
      this.#pending.set(key, new PendingKey(priority, reason));
      if (!this.#working.has(key)) this.#wait(key, priority);
      return;
    }
    pending.add(reason);
    if (rank[pending.priority] <= rank[priority]) return;
    if (!this.#working.has(key)) {
      this.#waitingAt(pending.priority).delete(key);
      this.#wait(key, priority);
    }
    pending.priority = priority;
  }

  /**
   * Adds the key after `delayMs`. Default priority: while it is worked on the one it was taken from, otherwise `normal`. A key waits for
   * one time only: the earliest requested, with the reason of that request and the highest priority of all. The reconcile at that time
   * decides about the next.
   */
  addAfter(key: K, delayMs: number, options: AddOptions = {}): void {
    if (this.#isShutDown) return;
    const { reason, priority = this.#working.get(key)?.priority ?? "normal" } = options;
    if (delayMs <= 0) {
      this.add(key, { priority, reason });
      return;
    }
    const dueAt = this.#clock.monotonic() + delayMs;
    const present = this.#delayed.get(key);
    if (present === undefined) this.#delayed.set(key, dueAt, { priority, reason });
    else {
      const isEarlier = dueAt < present.dueAt;
      this.#delayed.set(key, isEarlier ? dueAt : present.dueAt, {
        priority: rank[present.item.priority] < rank[priority] ? present.item.priority : priority,
        reason: isEarlier ? reason : present.item.reason,
      });
    }
    this.#armTimer();
  }

  /** Adds the key after a wait that grows from `baseMs` with each call until `forget`; priority as in `addAfter`. Returns the wait. */
  addRateLimited(
    key: K,
    options: AddOptions & {
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

  /** Resets the key's back-off after its work succeeded. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /** Returns the number of failures since the last `forget`. */
  failuresOf(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Returns why the key is being worked on; undefined when it is not. */
  wakeOf(key: K): Wake | undefined {
    return this.#working.get(key);
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

  /** Ends the key's work, successful or not. */
  done(key: K): void {
    this.#observer?.done(key);
    if (!this.#working.delete(key)) return;
    this.#endTurn(key);
    const again = this.#pending.get(key);
    if (again !== undefined && !this.#isShutDown) this.#wait(key, again.priority);
    // Later: the worker that calls this is awake, and may take its next key before another worker is woken for it.
    queueMicrotask(() => this.#handOut());
  }

  /** Ends each `get` with undefined, and ignores later additions. */
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

  #wait(key: K, priority: Priority): void {
    this.#waitingAt(priority).add(key);
    this.#handOut();
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
      const pending = key === undefined ? undefined : this.#pending.get(key);
      if (key === undefined || pending === undefined) continue;
      this.#pending.delete(key);
      this.#working.set(key, pending);
      this.#beginTurn(key);
      this.#observer?.taken(key);
      return key;
    }
    this.#gets--;
    return undefined;
  }

  #beginTurn(key: K): void {
    if (this.#groups === undefined) return;
    const group = this.#groups.of(key);
    this.#workingOf.set(group, (this.#workingOf.get(group) ?? 0) + 1);
    this.#began.set(key, this.#clock.monotonic());
  }

  #endTurn(key: K): void {
    if (this.#groups === undefined) return;
    const group = this.#groups.of(key);
    const left = (this.#workingOf.get(group) ?? 1) - 1;
    if (left === 0) this.#workingOf.delete(group);
    else this.#workingOf.set(group, left);
    const now = this.#clock.monotonic();
    const tookMs = Math.min(now - (this.#began.get(key) ?? now), longestRestMs);
    this.#began.delete(key);
    const waiting = [...this.#waiting.values()].reduce(
      (sum, one) => sum + (one instanceof RoundRobin ? one.sizeOf(group) : 0),
      0,
    );
    if (tookMs <= 0 || waiting <= this.#groups.restsAbove) return;
    this.#resting.add(group);
    this.#clock.schedule(tookMs, () => {
      this.#resting.delete(group);
      this.#handOut();
    });
  }

  /** Returns the priorities that may give a key now, highest first. A full priority closes all lower ones, because theirs count in it. */
  #openPriorities(): Priority[] {
    const open: Priority[] = [];
    let taken = this.#working.size;
    for (const priority of priorities) {
      if (taken >= this.#maxConcurrent(priority)) break;
      open.push(priority);
      for (const from of this.#working.values()) if (from.priority === priority) taken--;
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
      this.add(due.key, due.item);
    }
    this.#armTimer();
  }
}
