/**
 * Keys that wait for work. A key waits at most once and is never handed out while it is being worked on: if it is added again
 * meanwhile, it comes back after `done`. Lanes let what a person did overtake bulk work; each lane is first in, first out.
 */
import { type Clock, type Random, systemClock, systemRandom } from "@klutch/kube";
import { backoffLimit } from "../backoff.ts";
import { DelayHeap } from "./delay-heap.ts";

/** Importance, highest first. */
export type Lane = "user" | "normal" | "resync";

/** Options of a queue. */
export interface WorkQueueOptions {
  /** First wait after a failure. Default 5. */
  readonly baseDelayMs?: number | undefined;
  /** Longest wait after failures. Default 60 000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Most keys taken from the lane and less important ones that may be worked on at the same time; no lane's may be greater than
   * that of a more important one. Default: any number.
   */
  readonly limitOf?: ((lane: Lane) => number) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

const lanes: readonly Lane[] = ["user", "normal", "resync"];
/** Every so many takes the least important lane goes first, so that none starves. */
const fairTurn = 8;

/** The keys of one lane. */
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

/** See the module comment. `K` is compared by value of its text: use strings. */
export class WorkQueue<K extends string = string> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: { readonly baseMs: number; readonly capMs: number };
  readonly #limitOf: (lane: Lane) => number;
  readonly #waiting = new Map<Lane, Waiting<K>>(lanes.map((lane) => [lane, new Waiting()]));
  /** With the lane that it was taken from. */
  readonly #working = new Map<K, Lane>();
  /** Added again while being worked on, with the lane to come back in. */
  readonly #again = new Map<K, Lane>();
  readonly #failures = new Map<K, number>();
  readonly #delayed = new DelayHeap<K, Lane>();
  readonly #takers: ((key: K | undefined) => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #timerDueAt = Number.POSITIVE_INFINITY;
  #takes = 0;
  #isShutDown = false;

  constructor(options: WorkQueueOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#limits = { baseMs: options.baseDelayMs ?? 5, capMs: options.maxDelayMs ?? 60_000 };
    this.#limitOf = options.limitOf ?? (() => Number.POSITIVE_INFINITY);
  }

  /** Keys that wait to be taken. */
  get size(): number {
    return lanes.reduce((sum, lane) => sum + this.#lane(lane).size, 0);
  }

  /** Keys that wait for their time. */
  get delayedSize(): number {
    return this.#delayed.size;
  }

  /** Keys that are being worked on. */
  get workingSize(): number {
    return this.#working.size;
  }

  /** Adds the key, or moves it to a more important lane. Default lane `normal`. */
  add(key: K, options: { readonly lane?: Lane | undefined } = {}): void {
    if (this.#isShutDown) return;
    const lane = options.lane ?? "normal";
    if (this.#working.has(key)) {
      this.#again.set(key, moreImportant(lane, this.#again.get(key)));
      return;
    }
    const present = lanes.find((candidate) => this.#lane(candidate).has(key));
    if (present !== undefined && lanes.indexOf(present) <= lanes.indexOf(lane)) return;
    if (present !== undefined) this.#lane(present).delete(key);
    this.#lane(lane).add(key);
    this.#handOut();
  }

  /**
   * Adds the key after `delayMs`. Default lane: while it is worked on the one it was taken from, otherwise `normal`. A key waits for
   * one time only, the earliest that was asked for, in the most important lane: what comes of that look decides about the next.
   */
  addAfter(key: K, delayMs: number, options: { readonly lane?: Lane | undefined } = {}): void {
    if (this.#isShutDown) return;
    const lane = options.lane ?? this.#working.get(key) ?? "normal";
    if (delayMs <= 0) {
      this.add(key, { lane });
      return;
    }
    const dueAt = this.#clock.monotonic() + delayMs;
    const present = this.#delayed.get(key);
    if (present === undefined) this.#delayed.set(key, dueAt, lane);
    else this.#delayed.set(key, Math.min(dueAt, present.dueAt), moreImportant(lane, present.item));
    this.#armTimer();
  }

  /** Adds the key after a wait that grows from `baseMs` with each call until `forget`; lanes as `addAfter`. Gives back the wait. */
  addRateLimited(
    key: K,
    options: {
      readonly lane?: Lane | undefined;
      readonly atLeastMs?: number | undefined;
      /** Default: the queue's. */
      readonly baseMs?: number | undefined;
    } = {},
  ): number {
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
  take(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<K | undefined> {
    const { signal } = options;
    if (this.#isShutDown || signal?.aborted === true) return Promise.resolve(undefined);
    const key = this.#next();
    if (key !== undefined) return Promise.resolve(key);
    const { promise, resolve } = Promise.withResolvers<K | undefined>();
    const taker = (taken: K | undefined): void => {
      signal?.removeEventListener("abort", onAbort);
      resolve(taken);
    };
    const onAbort = (): void => {
      const index = this.#takers.indexOf(taker);
      if (index >= 0) this.#takers.splice(index, 1);
      resolve(undefined);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#takers.push(taker);
    return promise;
  }

  /** The key's work ended, well or not. */
  done(key: K): void {
    this.#working.delete(key);
    const lane = this.#again.get(key);
    this.#again.delete(key);
    if (lane !== undefined) this.add(key, { lane });
    // Not at once: the worker that calls this is awake, and may take its next key before another is woken for it.
    queueMicrotask(() => this.#handOut());
  }

  /** Takes end with undefined; nothing is added any more. */
  shutDown(): void {
    this.#isShutDown = true;
    this.#cancelTimer?.();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #lane(lane: Lane): Waiting<K> {
    const waiting = this.#waiting.get(lane);
    if (waiting === undefined) throw new RangeError(`unknown lane ${lane}`);
    return waiting;
  }

  #handOut(): void {
    while (this.#takers.length > 0) {
      const key = this.#next();
      if (key === undefined) return;
      this.#takers.shift()?.(key);
    }
  }

  #next(): K | undefined {
    const open = this.#openLanes();
    const order = ++this.#takes % fairTurn === 0 ? open.toReversed() : open;
    for (const lane of order) {
      const key = this.#lane(lane).shift();
      if (key === undefined) continue;
      this.#working.set(key, lane);
      return key;
    }
    this.#takes--;
    return undefined;
  }

  /** Lanes that may give a key now, most important first. A lane that is full closes all less important ones: theirs count in it. */
  #openLanes(): Lane[] {
    const open: Lane[] = [];
    let taken = this.#working.size;
    for (const lane of lanes) {
      if (taken >= this.#limitOf(lane)) break;
      open.push(lane);
      for (const from of this.#working.values()) if (from === lane) taken--;
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
      this.add(due.key, { lane: due.item });
    }
    this.#armTimer();
  }
}

function moreImportant(left: Lane, right: Lane | undefined): Lane {
  return right !== undefined && lanes.indexOf(right) < lanes.indexOf(left) ? right : left;
}
