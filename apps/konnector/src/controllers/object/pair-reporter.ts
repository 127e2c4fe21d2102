/** What people and metrics learn of a pair: how long it differs, what became of it, and what it waits for. */
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import type { EventRecorder, ReconcileResult } from "@klutch/kube-runtime";
import type { Step, Waiting } from "@klutch/sync";
import type { Histogram } from "@klutch/telemetry";
import type { RuntimeDependencies } from "../../clusters.ts";
import type { PairObservation } from "./pair-store.ts";
import { recordStep, recordFailure, recordWaiting } from "./events.ts";

/** Where it is recorded. */
export interface PairReporterOptions {
  readonly type: ResourceType;
  readonly events: EventRecorder;
  readonly runtime: RuntimeDependencies;
}

/** Of a pair that is not in sync. Times are monotonic milliseconds. */
interface Difference {
  readonly since: number;
  failures: number;
  waitingSince: number | undefined;
}

/** Remembers pairs only while they differ, and on which claims the first status was recorded. Lost without harm on restart. */
export class PairReporter {
  readonly #options: PairReporterOptions;
  readonly #lag: Histogram;
  readonly #differences = new Map<string, Difference>();
  readonly #firstStatusRecorded = new Set<string>();
  /** Since when claims have waited for what their status would say, by key. Monotonic milliseconds. */
  readonly #unanswered = new Map<string, number>();

  constructor(options: PairReporterOptions) {
    this.#options = options;
    const { runtime, type } = options;
    this.#lag = runtime.metrics.lag.labels({ resource: type.plural });
  }

  /** Pairs that are known to differ. */
  get differing(): number {
    return this.#differences.size;
  }

  /** The pair was found to differ. Only the first call counts until it is in sync. */
  differs(key: string, since: number): void {
    if (!this.#differences.has(key))
      this.#differences.set(key, { since, failures: 0, waitingSince: undefined });
  }

  /** The pair is in sync: how long it was not is measured. */
  synced(key: string): void {
    const difference = this.#differences.get(key);
    if (difference === undefined) return;
    this.#differences.delete(key);
    this.#lag.observe((this.#options.runtime.clock.monotonic() - difference.since) / 1000);
  }

  /** Whether the pair has differed, or its claim has waited for an answer, for so long that the claim's status is to say so. */
  isOverdue(key: string): boolean {
    return this.#overdueInMs(key) === 0;
  }

  /** The claim waits for an answer. Gives back after which time that is overdue. */
  awaits(key: string): ReconcileResult {
    if (!this.#unanswered.has(key)) this.#unanswered.set(key, this.#options.runtime.clock.monotonic());
    return { requeueAfterMs: this.#overdueInMs(key) ?? 0 };
  }

  /** The claim does not wait for an answer. */
  answered(key: string): undefined {
    this.#unanswered.delete(key);
  }

  /** Neither object is there any more. */
  forget(key: string): void {
    this.#unanswered.delete(key);
    this.#differences.delete(key);
    this.#firstStatusRecorded.delete(key);
  }

  /** A step was carried out. */
  carriedOut({ placed: { key }, ...objects }: PairObservation, step: Step): void {
    const { events, runtime } = this.#options;
    const now = runtime.clock.monotonic();
    const memory = { isSynced: this.#firstStatusRecorded.has(key) };
    recordStep(events, step, objects, memory, now - (this.#differences.get(key)?.since ?? now));
    if (memory.isSynced) this.#firstStatusRecorded.add(key);
  }

  /** A step was not carried out. */
  async failed({ placed: { key }, consumer }: PairObservation, step: Step, error: unknown): Promise<void> {
    const difference = this.#differences.get(key);
    const failures = (difference?.failures ?? 0) + 1;
    if (difference !== undefined) difference.failures = failures;
    await recordFailure(this.#options.events, step, consumer, error, failures);
  }

  /** The pair waits for nothing. */
  stopsWaiting(key: string): void {
    const difference = this.#differences.get(key);
    if (difference !== undefined) difference.waitingSince = undefined;
  }

  /** The pair waits: that is recorded on its claim when it takes long. */
  async waits(
    { placed: { key }, target, second, mapping }: PairObservation,
    claim: DynamicObject,
    waiting: Waiting,
  ): Promise<ReconcileResult | undefined> {
    const { events, runtime } = this.#options;
    const { clock, timing } = runtime;
    const now = clock.monotonic();
    const difference = this.#differences.get(key);
    const since = difference?.waitingSince ?? now;
    if (difference !== undefined) difference.waitingSince = since;
    const leftMs = since + timing.recordAfterMs - now;
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const objects = target === undefined || second === undefined ? [] : [target, second];
    await recordWaiting(events, claim, waiting, { objects, mapping });
    return undefined;
  }

  #overdueInMs(key: string): number | undefined {
    const { clock, timing } = this.#options.runtime;
    const since = [this.#differences.get(key)?.since, this.#unanswered.get(key)].filter(
      (time) => time !== undefined,
    );
    if (since.length === 0) return undefined;
    return Math.max(0, Math.min(...since) + timing.overdueAfterMs - clock.monotonic());
  }
}
