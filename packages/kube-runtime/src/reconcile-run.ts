/** One call of a reconcile function, as its log lines identify it. */
import { randomUUID } from "node:crypto";
import type { Logger } from "@klutch/telemetry";
import type { ReconcileOutcome } from "./controller-metrics.ts";
import type { Wake } from "./queue/wake.ts";

/** Reasons that a Controller gives to its own requests. Constants, so that log lines can be counted by reason. */
export const wakeReasons = {
  /** The reconcile returned `requeueAfterMs`. */
  requeue: "requeued after a wait",
  /** The reconcile threw. */
  retry: "retry after an error",
  /** Another writer changed the object first. */
  conflict: "retry after a conflict",
  /** The lease or the process ended during the reconcile. */
  nextTerm: "retry after a lost lease",
} as const;

/**
 * Gives a reconcile its context. Every line of its logger carries `key`, `reconcileId`, `reasons`, and `requests` where several requests
 * led to one reconcile. The logger is created lazily, because most reconciles never log.
 */
export class ReconcileRun {
  readonly signal: AbortSignal;
  readonly #logger: Logger;
  readonly #key: string;
  readonly #wake: Wake | undefined;
  #own: Logger | undefined;

  constructor(logger: Logger, key: string, wake: Wake | undefined, signal: AbortSignal) {
    this.#logger = logger;
    this.#key = key;
    this.#wake = wake;
    this.signal = signal;
  }

  get logger(): Logger {
    const { reasons = [], requests = 1 } = this.#wake ?? {};
    return (this.#own ??= this.#logger.child({
      key: this.#key,
      reconcileId: randomUUID(),
      reasons,
      ...(requests > 1 ? { requests } : {}),
    }));
  }

  /** Writes the debug line that closes a reconcile which logs no failure; free of cost at higher log levels. */
  logEnd(outcome: ReconcileOutcome, durationMs: number, requeueAfterMs?: number): void {
    if (this.#logger.writesDebug === false) return;
    this.logger.debug("reconciled", { outcome, durationMs: Math.round(durationMs), requeueAfterMs });
  }
}
