/** Works through a queue of keys with a reconcile function. */
import { ApiError, type Clock, FencedError, isConflict, type Random, systemClock } from "@klutch/kube";
import {
  activeScope,
  type Logger,
  type Metrics,
  silentLogger,
  type SpanOptions,
  type Tracer,
} from "@klutch/telemetry";
import { ControllerMetrics, type ReconcileOutcome } from "./controller-metrics.ts";
import { DelayedRetryError, TerminalError } from "./errors.ts";
import type { Informer } from "./cache/informer.ts";
import type { Cached, Change } from "./cache/store.ts";
import { ConcurrencyLimit } from "./queue/concurrency-limit.ts";
import type { Groups } from "./queue/waiting.ts";
import type { WakeReason } from "./queue/wake.ts";
import { type AddOptions, WorkQueue } from "./queue/work-queue.ts";
import { objectOf, ReconcileRun, wakeReasons } from "./reconcile-run.ts";

/** Requests of a reconcile to its controller. */
export interface ReconcileResult {
  /** Reconcile again after this time, even if nothing changes. */
  readonly requeueAfterMs?: number | undefined;
  /** Reason of that reconcile. Default `requeued after a wait`. */
  readonly reason?: WakeReason | undefined;
  /** Keeps the back-off, because the operation that failed before was not tried again. */
  readonly keepsBackOff?: boolean | undefined;
}

/** Context of one reconcile. Log through its `logger`: its lines say which reconcile wrote them, and why it ran. */
export interface ReconcileContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** Brings the object named by the key to its desired state. Level-driven: it gets the key and no event. Throw to be called again later. */
// oxlint-disable-next-line typescript/no-invalid-void-type
export type Reconcile = (
  key: string,
  context: ReconcileContext,
) => Promise<ReconcileResult | undefined | void>;

/** Options of a controller. */
export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Number of keys worked on at the same time; "adaptive" learns it from the latency of requests sent through `observeLatency`. Default 4. */
  readonly workers?: number | "adaptive" | undefined;
  /** Lets groups of keys take turns, so that one with many keys does not hold up the others. Default: all keys are one group. */
  readonly groups?: Groups | undefined;
  /** First wait after an error other than a conflict; it doubles with each further one, up to `maxDelayMs`. Default 5. */
  readonly baseDelayMs?: number | undefined;
  /** Longest wait after errors, unless the server asks for a longer one. Default 60 000. */
  readonly maxDelayMs?: number | undefined;
  readonly logger?: Logger | undefined;
  readonly metrics?: Metrics | undefined;
  /** Each reconcile that asks an API server or a backend for something is a trace. Default: no traces. */
  readonly tracer?: Tracer | undefined;
  /** Kind of the objects whose keys are reconciled; log lines and traces then name the object. Default: keys are something else. */
  readonly kind?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/** Options of `Controller.enqueue`. */
export interface EnqueueOptions extends AddOptions {
  /** Wait before the reconcile, in milliseconds. Default: none. */
  readonly afterMs?: number | undefined;
}

/** Runs one reconcile function over one queue with some workers. */
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
  readonly #tracer: Tracer | undefined;
  readonly #kind: string | undefined;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#reconcile = options.reconcile;
    this.#logger = (options.logger ?? silentLogger).child({ controller: options.name });
    this.#clock = options.clock ?? systemClock;
    const concurrency = options.workers === "adaptive" ? new ConcurrencyLimit(this.#clock) : undefined;
    this.#workers = options.workers === "adaptive" ? ConcurrencyLimit.max : (options.workers ?? 4);
    this.#concurrency = concurrency;
    this.#baseDelayMs = options.baseDelayMs;
    this.#tracer = options.tracer;
    this.#kind = options.kind;
    const { metrics } = options;
    this.#metrics =
      metrics === undefined ? undefined : new ControllerMetrics(options.name, metrics, this.#clock);
    this.#queue = new WorkQueue({
      observer: this.#metrics,
      groups: options.groups,
      maxDelayMs: options.maxDelayMs,
      maxConcurrent:
        concurrency === undefined ? undefined : (priority) => concurrency.maxConcurrent(priority),
      clock: this.#clock,
      random: options.random,
    });
  }

  /** Number of keys that wait or are worked on, for tests and metrics. */
  get pending(): number {
    return this.#queue.size + this.#queue.workingSize;
  }

  /** Requests a reconcile of the key, at once or after `afterMs`. */
  enqueue(key: string, options: EnqueueOptions = {}): void {
    if (options.afterMs === undefined) this.#queue.add(key, options);
    else this.#queue.addAfter(key, options.afterMs, options);
  }

  /**
   * Enqueues the keys that `keysOf` names for each change. Default: the object's own key. Default priority: `normal`, of objects that
   * existed before `low`. Default reasons: the kind with `listed`, `added`, `updated` or `deleted`, such as `Secret updated`.
   */
  watch<T extends Cached>(
    informer: Informer<T>,
    keysOf: (change: Change<T>) => Iterable<string> = (change) => [change.key],
    options: AddOptions = {},
  ): Disposable {
    const reasonOf = changeReasons(informer.type.kind);
    return informer.onChange((change, isInInitialList) => {
      const { priority = isInInitialList ? "low" : "normal" } = options;
      const reason = options.reason ?? reasonOf(change, isInInitialList);
      for (const key of keysOf(change)) this.#queue.add(key, { priority, reason });
    });
  }

  /** Sends a request and measures how long it takes. `kind`: see `ConcurrencyLimit.observe`. */
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
      if (this.#tracer === undefined) await this.#process(key, signal);
      else await this.#tracer.run(this.#spanOf(key), () => this.#process(key, signal));
      this.#queue.done(key);
    }
  }

  #spanOf(key: string): SpanOptions {
    const object = this.#kind === undefined ? undefined : objectOf(this.#kind, key);
    return {
      name: `reconcile ${this.name}`,
      attributes: {
        "klutch.controller": this.name,
        "klutch.key": key,
        ...(object === undefined ? {} : { "k8s.object.kind": object.kind, "k8s.object.name": object.name }),
        ...(object?.namespace === undefined ? {} : { "k8s.namespace.name": object.namespace }),
      },
    };
  }

  async #process(key: string, signal: AbortSignal): Promise<void> {
    const run = new ReconcileRun(this.#logger, { key, kind: this.#kind }, this.#queue.wakeOf(key), signal);
    const started = this.#clock.monotonic();
    let outcome: ReconcileOutcome = "success";
    try {
      const result = await this.#reconcile(key, run);
      if (result?.keepsBackOff !== true) this.#queue.forget(key);
      const afterMs = result?.requeueAfterMs;
      if (afterMs !== undefined) {
        outcome = "requeue_after";
        this.#queue.addAfter(key, afterMs, { reason: result?.reason ?? wakeReasons.requeue });
      }
      run.logEnd(outcome, this.#clock.monotonic() - started, afterMs);
    } catch (error) {
      outcome = this.#failed(key, error, run, started);
    }
    if (this.#tracer !== undefined) activeScope()?.set({ "klutch.outcome": outcome });
    this.#metrics?.reconciled(outcome, (this.#clock.monotonic() - started) / 1000);
  }

  /** Decides about the retry, and writes the line that closes the reconcile. */
  #failed(key: string, error: unknown, run: ReconcileRun, started: number): ReconcileOutcome {
    if (run.signal.aborted || error instanceof FencedError) {
      // For the next term; no key is taken until then.
      this.#queue.addRateLimited(key, { reason: wakeReasons.nextTerm });
      run.logEnd("aborted", this.#clock.monotonic() - started);
      return "aborted";
    }
    const { logger } = run;
    if (error instanceof TerminalError) {
      logger.error("reconcile failed, waiting for a change", { error, outcome: "terminal_error" });
      this.#queue.forget(key);
      return "terminal_error";
    }
    const saysWhen = error instanceof ApiError || error instanceof DelayedRetryError;
    const atLeastMs = saysWhen ? error.retryAfterMs : undefined;
    const conflict = isConflict(error);
    const baseMs = conflict ? undefined : this.#baseDelayMs;
    const reason = conflict ? wakeReasons.conflict : wakeReasons.retry;
    const retryInMs = Math.round(this.#queue.addRateLimited(key, { atLeastMs, baseMs, reason }));
    const outcome = "error";
    // Another writer was faster: expected, and resolved by reconciling again.
    if (conflict) logger.debug("object changed meanwhile, trying again", { outcome, retryInMs });
    else logger.warn("reconcile failed, trying again", { error, outcome, retryInMs });
    return outcome;
  }
}

/** Returns the reasons of changes of one kind: four texts, made once. */
function changeReasons(kind: string): (change: Change<Cached>, isInInitialList: boolean) => string {
  const texts = { added: `${kind} added`, updated: `${kind} updated`, deleted: `${kind} deleted` };
  const listed = `${kind} listed`;
  return ({ type }, isInInitialList) => (isInInitialList ? listed : texts[type]);
}
