/** One call of a reconcile function, as its log lines identify it. */
import { randomUUID } from "node:crypto";
import { refOf } from "@klutch/kube-core";
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
 * Gives a reconcile its context. Every line of its logger carries `key`, `reconcileID`, `reasons`, `object` where the keys are
 * those of one kind, and `requests` where several requests led to one reconcile. The logger is created lazily, because most reconciles never log.
 */
export class ReconcileRun {
  readonly signal: AbortSignal;
  readonly #logger: Logger;
  readonly #key: string;
  readonly #kind: string | undefined;
  readonly #wake: Wake | undefined;
  #own: Logger | undefined;

  constructor(
    logger: Logger,
    { key, kind }: { readonly key: string; readonly kind?: string | undefined },
    wake: Wake | undefined,
    signal: AbortSignal,
  ) {
    this.#logger = logger;
    this.#key = key;
    this.#kind = kind;
    this.#wake = wake;
    this.signal = signal;
  }

  get logger(): Logger {
    const { reasons = [], requests = 1 } = this.#wake ?? {};
    return (this.#own ??= this.#logger.child({
      key: this.#key,
      reconcileID: randomUUID(),
      ...(this.#kind === undefined ? {} : { object: objectOf(this.#kind, this.#key) }),
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

/** An object as log lines and traces name it. */
export interface NamedObject {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Returns the object of the key of an informer. */
export function objectOf(kind: string, key: string): NamedObject {
  const { namespace, name } = refOf(key);
  return namespace === undefined ? { kind, name } : { kind, namespace, name };
}
