/** Works through a queue of keys with a reconcile function. */
import { ApiError, type Clock, FencedError, isConflict, type Random, systemClock } from "@klutch/kube";
import { type Logger, type Metrics, silentLogger } from "@klutch/telemetry";
import { ControllerMetrics, type ReconcileOutcome } from "./controller-metrics.ts";
import { DelayedRetryError, TerminalError } from "./errors.ts";
import type { Informer } from "./cache/informer.ts";
import type { Cached, Change } from "./cache/store.ts";
import { ConcurrencyLimit } from "./queue/concurrency-limit.ts";
import { type Priority, WorkQueue } from "./queue/work-queue.ts";

/** What a reconcile may ask for. */
export interface ReconcileResult {
  /** Reconcile again after this time, although nothing changed. */
  readonly requeueAfterMs?: number | undefined;
  /** What failed before was not tried again: the wait after its next failure goes on growing. */
  readonly keepsBackOff?: boolean | undefined;
}

/** What a reconcile gets besides the key. */
export interface ReconcileContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** Makes the world fit the object named by the key. Throw to be called again later; level-driven, so the key is all it gets. */
// oxlint-disable-next-line typescript/no-invalid-void-type
export type Reconcile = (
  key: string,
  context: ReconcileContext,
) => Promise<ReconcileResult | undefined | void>;

/** Options of a controller. */
export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Keys worked on at the same time; "adaptive": what the servers take, learned from the requests that `observeLatency` sees. Default 4. */
  readonly workers?: number | "adaptive" | undefined;
  /** First wait after an error other than a conflict; it doubles with each further one, up to `maxDelayMs`. Default 5. */
  readonly baseDelayMs?: number | undefined;
  /** Longest wait after errors, unless the server asks for a longer one. Default 60 000. */
  readonly maxDelayMs?: number | undefined;
  readonly logger?: Logger | undefined;
  readonly metrics?: Metrics | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/** One queue, some workers, one reconcile function. */
export class Controller {
  readonly name: string;
  readonly #reconcile: Reconcile;
  readonly #workers: number;
  readonly #concurrency: ConcurrencyLimit | undefined;
  readonly #baseDelayMs: number | undefined;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #metrics: ControllerMetrics | undefined;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#reconcile = options.reconcile;
    this.#logger = (options.logger ?? silentLogger).child({ controller: options.name });
    this.#clock = options.clock ?? systemClock;
    const concurrency = options.workers === "adaptive" ? new ConcurrencyLimit(this.#clock) : undefined;
    this.#workers = options.workers === "adaptive" ? ConcurrencyLimit.max : (options.workers ?? 4);
    this.#concurrency = concurrency;
    this.#baseDelayMs = options.baseDelayMs;
    const { metrics } = options;
    this.#metrics =
      metrics === undefined ? undefined : new ControllerMetrics(options.name, metrics, this.#clock);
    this.#queue = new WorkQueue({
      observer: this.#metrics,
      maxDelayMs: options.maxDelayMs,
      maxConcurrent:
        concurrency === undefined ? undefined : (priority) => concurrency.maxConcurrent(priority),
      clock: this.#clock,
      random: options.random,
    });
  }

  /** Keys that wait, for tests and metrics. */
  get pending(): number {
    return this.#queue.size + this.#queue.workingSize;
  }

  enqueue(
    key: string,
    options: { readonly priority?: Priority | undefined; readonly afterMs?: number | undefined } = {},
  ): void {
    if (options.afterMs === undefined) this.#queue.add(key, options);
    else this.#queue.addAfter(key, options.afterMs, options);
  }

  /**
   * Enqueues the keys that `keysOf` names for each change. Default: the object's own key. Default priority: `normal`, of what was
   * there before `low`.
   */
  watch<T extends Cached>(
    informer: Informer<T>,
    keysOf: (change: Change<T>) => Iterable<string> = (change) => [change.key],
    options: { readonly priority?: Priority | undefined } = {},
  ): Disposable {
    return informer.onChange((change, isInInitialList) => {
      const { priority = isInInitialList ? "low" : "normal" } = options;
      for (const key of keysOf(change)) this.#queue.add(key, { priority });
    });
  }

  /** Sends a request and notes how long it took. `kind`: as `ConcurrencyLimit.observe`. */
  async observeLatency<T>(kind: string, send: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic();
    const answer = await send();
    this.#concurrency?.observe(kind, this.#clock.monotonic() - startedAt, this.#queue.workingSize);
    return answer;
  }

  /** Works until the signal aborts; resolves when the last reconcile has ended. May be started again: keys are kept. */
  async start(options: { readonly signal: AbortSignal }): Promise<void> {
    const { signal } = options;
    using _gauges = this.#metrics?.show({
      depth: () => this.#queue.size,
      active: () => this.#queue.workingSize,
      maxConcurrent: () => this.#concurrency?.maxConcurrent("normal") ?? this.#workers,
    });
    await Promise.all(Array.from({ length: this.#workers }, () => this.#work(signal)));
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.get({ signal });
      if (key === undefined) return;
      await this.#process(key, signal);
      this.#queue.done(key);
    }
  }

  async #process(key: string, signal: AbortSignal): Promise<void> {
    const base = this.#logger;
    let child: Logger | undefined;
    const context = {
      signal,
      // Most reconciles have nothing to say.
      get logger() {
        return (child ??= base.child({ key }));
      },
    };
    const started = this.#clock.monotonic();
    let outcome: ReconcileOutcome = "success";
    try {
      const result = await this.#reconcile(key, context);
      if (result?.keepsBackOff !== true) this.#queue.forget(key);
      if (result?.requeueAfterMs !== undefined) {
        outcome = "requeue_after";
        this.#queue.addAfter(key, result.requeueAfterMs);
      }
    } catch (error) {
      outcome = this.#failed(key, error, context);
    }
    this.#metrics?.reconciled(outcome, (this.#clock.monotonic() - started) / 1000);
  }

  #failed(key: string, error: unknown, { signal, logger }: ReconcileContext): ReconcileOutcome {
    if (signal.aborted || error instanceof FencedError) {
      // For the next term; nobody takes keys until then.
      this.#queue.addRateLimited(key);
      return "aborted";
    }
    if (error instanceof TerminalError) {
      logger.error("reconcile failed, waiting for a change", { error });
      this.#queue.forget(key);
      return "terminal_error";
    }
    const saysWhen = error instanceof ApiError || error instanceof DelayedRetryError;
    const atLeastMs = saysWhen ? error.retryAfterMs : undefined;
    const conflict = isConflict(error);
    const baseMs = conflict ? undefined : this.#baseDelayMs;
    const retryInMs = Math.round(this.#queue.addRateLimited(key, { atLeastMs, baseMs }));
    // Somebody else was faster: expected, and cured by reconciling again.
    if (conflict) logger.debug("object changed meanwhile, trying again", { retryInMs });
    else logger.warn("reconcile failed, trying again", { error, retryInMs });
    return "error";
  }
}
