/** What people and metrics learn of a pair: how long it differs, what became of it, and what it waits for. */
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import type { ReconcileResult } from "@klutch/kube-runtime";
import type { Step, Waiting } from "@klutch/sync";
import type { Environment } from "../../clusters.ts";
import type { EventRecorder } from "../../events.ts";
import type { PairObservation } from "./pair-store.ts";
import { noteStep, tellFailure, tellWaiting } from "./events.ts";

/** Where it is told. */
export interface PairReporterOptions {
  readonly type: ResourceType;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

/** Of a pair that is not in sync. Times are monotonic milliseconds. */
interface Difference {
  readonly since: number;
  failures: number;
  waitingSince: number | undefined;
}

/** Remembers pairs only while they differ, and which claims were told of their first status. Lost without harm on restart. */
export class PairReporter {
  readonly #options: PairReporterOptions;
  readonly #differences = new Map<string, Difference>();
  readonly #toldOfStatus = new Set<string>();

  constructor(options: PairReporterOptions) {
    this.#options = options;
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
    const { metrics, clock } = this.#options.environment;
    const seconds = (clock.monotonic() - difference.since) / 1000;
    metrics.lag.labels({ resource: this.#options.type.plural }).observe(seconds);
  }

  /** Neither object is there any more. */
  forget(key: string): void {
    this.#differences.delete(key);
    this.#toldOfStatus.delete(key);
  }

  /** A step was carried out. */
  carriedOut({ placed: { key }, ...objects }: PairObservation, step: Step): void {
    const { events, environment } = this.#options;
    const now = environment.clock.monotonic();
    const memory = { isSynced: this.#toldOfStatus.has(key) };
    noteStep(events, step, objects, memory, now - (this.#differences.get(key)?.since ?? now));
    if (memory.isSynced) this.#toldOfStatus.add(key);
  }

  /** A step was not carried out. */
  async failed({ placed: { key }, consumer }: PairObservation, step: Step, error: unknown): Promise<void> {
    const difference = this.#differences.get(key);
    const failures = (difference?.failures ?? 0) + 1;
    if (difference !== undefined) difference.failures = failures;
    await tellFailure(this.#options.events, step, consumer, error, failures);
  }

  /** The pair waits for nothing. */
  stopsWaiting(key: string): void {
    const difference = this.#differences.get(key);
    if (difference !== undefined) difference.waitingSince = undefined;
  }

  /** The pair waits: its claim is told when that takes long. */
  async waits(
    { placed: { key }, target, second, mapping }: PairObservation,
    claim: DynamicObject,
    waiting: Waiting,
  ): Promise<ReconcileResult | undefined> {
    const { events, environment } = this.#options;
    const { clock, timing } = environment;
    const now = clock.monotonic();
    const difference = this.#differences.get(key);
    const since = difference?.waitingSince ?? now;
    if (difference !== undefined) difference.waitingSince = since;
    const leftMs = since + timing.tellAfterMs - now;
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const objects = target === undefined || second === undefined ? [] : [target, second];
    await tellWaiting(events, claim, waiting, { objects, mapping });
    return undefined;
  }
}
