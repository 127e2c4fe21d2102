/** Metrics of a controller and its queue, with the names and labels of controller-runtime and client-go. */
import type { Clock } from "@klutch/kube";
import { controllerMetrics as declared, type Counter, type Histogram, type Metrics } from "@klutch/telemetry";
import type { QueueObserver } from "./queue/work-queue.ts";

/** The outcome of a reconcile. `aborted`: the lease or the process ended meanwhile. */
export type ReconcileOutcome = "success" | "requeue_after" | "error" | "terminal_error" | "aborted";

/** Readings of a controller at each scrape. */
export interface ControllerGauges {
  /** Keys that could be taken. */
  readonly depth: () => number;
  readonly active: () => number;
  readonly maxConcurrent: () => number;
}

/** The counters of one controller; controllers of the same name share them. */
export class ControllerMetrics implements QueueObserver {
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #controller: { readonly controller: string };
  readonly #names: { readonly name: string; readonly controller: string };
  readonly #results: Readonly<Record<"success" | "requeue_after" | "error" | "aborted", Counter>>;
  readonly #errors: Counter;
  readonly #terminalErrors: Counter;
  readonly #time: Histogram;
  readonly #adds: Counter;
  readonly #retries: Counter;
  readonly #queueDuration: Histogram;
  readonly #workDuration: Histogram;
  readonly #addedAt = new Map<string, number>();
  readonly #takenAt = new Map<string, number>();

  constructor(name: string, metrics: Metrics, clock: Clock) {
    this.#metrics = metrics;
    this.#clock = clock;
    this.#controller = { controller: name };
    this.#names = { name, controller: name };
    const total = metrics.counter(declared.reconcileTotal);
    const resultOf = (result: string): Counter => total.labels({ ...this.#controller, result });
    this.#results = {
      success: resultOf("success"),
      requeue_after: resultOf("requeue_after"),
      error: resultOf("error"),
      aborted: resultOf("aborted"),
    };
    this.#errors = metrics.counter(declared.reconcileErrors).labels(this.#controller);
    this.#terminalErrors = metrics.counter(declared.terminalReconcileErrors).labels(this.#controller);
    this.#time = metrics.histogram(declared.reconcileTime).labels(this.#controller);
    this.#adds = metrics.counter(declared.queueAdds).labels(this.#names);
    this.#retries = metrics.counter(declared.queueRetries).labels(this.#names);
    this.#queueDuration = metrics.histogram(declared.queueDuration).labels(this.#names);
    this.#workDuration = metrics.histogram(declared.workDuration).labels(this.#names);
  }

  /** A reconcile ended. */
  reconciled(outcome: ReconcileOutcome, seconds: number): void {
    this.#results[outcome === "terminal_error" ? "error" : outcome].inc();
    if (outcome === "error" || outcome === "terminal_error") this.#errors.inc();
    if (outcome === "terminal_error") this.#terminalErrors.inc();
    this.#time.observe(seconds);
  }

  /** A key that waits or is worked on already with another round ahead is not added again. */
  added(key: string): void {
    if (this.#addedAt.has(key)) return;
    this.#addedAt.set(key, this.#clock.monotonic());
    this.#adds.inc();
  }

  taken(key: string): void {
    const now = this.#clock.monotonic();
    this.#queueDuration.observe((now - (this.#addedAt.get(key) ?? now)) / 1000);
    this.#addedAt.delete(key);
    this.#takenAt.set(key, now);
  }

  done(key: string): void {
    const now = this.#clock.monotonic();
    this.#workDuration.observe((now - (this.#takenAt.get(key) ?? now)) / 1000);
    this.#takenAt.delete(key);
  }

  retried(): void {
    this.#retries.inc();
  }

  /** Shows the gauges of a controller that runs, until they are disposed. */
  show(gauges: ControllerGauges): Disposable {
    const stack = new DisposableStack();
    const controller = this.#controller;
    const names = this.#names;
    const read = (declaration: typeof declared.activeWorkers, value: () => number): void => {
      stack.use(this.#metrics.read(declaration, () => [{ labels: controller, value: value() }]));
    };
    const readOfQueue = (declaration: typeof declared.queueDepth, value: () => number): void => {
      stack.use(this.#metrics.read(declaration, () => [{ labels: names, value: value() }]));
    };
    read(declared.activeWorkers, gauges.active);
    read(declared.maxConcurrentReconciles, gauges.maxConcurrent);
    readOfQueue(declared.queueDepth, gauges.depth);
    readOfQueue(declared.unfinishedWork, () => this.#agesOfWork().reduce((sum, age) => sum + age, 0));
    readOfQueue(declared.longestRunning, () => Math.max(0, ...this.#agesOfWork()));
    return stack;
  }

  /** In seconds. */
  #agesOfWork(): readonly number[] {
    const now = this.#clock.monotonic();
    return [...this.#takenAt.values()].map((takenAt) => (now - takenAt) / 1000);
  }
}
