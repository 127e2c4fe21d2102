/**
 * The limits of one provider's bound APIs: shown on their bindings, where the admission policy of the app cluster reads them
 * (designs/0025-limits-in-the-app-cluster.md), and told to the claims that the provider refused.
 */
import { type ApiLimit, isLimitReached } from "@klutch/api";
import { jsonEqual } from "@klutch/kube-core";
import type { Controller, ReconcileResult } from "@klutch/kube-runtime";
import type { RuntimeDependencies } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import type { Startable } from "../../lifecycle.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import { LimitHold } from "../object/limit-hold.ts";

/** Options of the part. */
export interface ApiLimitsOptions {
  readonly status: Pick<BindingStatus, "reportLimit">;
  readonly runtime: RuntimeDependencies;
  /** Returns the key of the API's binding; undefined when it is not bound to this provider. */
  readonly bindingKeyOf: (api: string) => string | undefined;
  /** Returns the number of the API's upstream objects that the caches show. */
  readonly count: (api: string) => number;
  /** Reconciles these claims of the API. */
  readonly wake: (api: string, keys: readonly string[]) => void;
}

/** The number of objects of a burst is written once in this time. */
const writeEveryMs = 1_000;
/** A limit that is reached or left is written sooner, but objects that come and go in turn do not make a write each. */
const writeSoonMs = 100;

interface Shown {
  readonly limit: ApiLimit | undefined;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** Takes the larger of two numbers of objects: the provider's may be late, and the caches show only what was synced. */
export class ApiLimits implements Startable {
  readonly #options: ApiLimitsOptions;
  readonly #controller: Controller;
  /** Undefined until the provider was read. */
  #limits: ReadonlyMap<string, ApiLimit> | undefined;
  #bound: readonly string[] = [];
  /** Limits as they were shown last, by API. */
  readonly #shown = new Map<string, Shown>();
  /** Monotonic milliseconds of the last count, by API. */
  readonly #countedAt = new Map<string, number>();
  readonly #holds = new Map<string, LimitHold>();

  constructor(options: ApiLimitsOptions) {
    this.#options = options;
    this.#controller = createController(options.runtime, "limits", (api) => this.#reconcile(api));
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.#controller.start({ signal });
  }

  /** Takes the provider's limits, by name of the API. An earlier process may have shown one that is no more. */
  set(limits: ReadonlyMap<string, ApiLimit>): void {
    const before = this.#limits;
    this.#limits = limits;
    for (const api of this.#bound)
      if (before === undefined || !jsonEqual(before.get(api), limits.get(api))) this.#enqueue(api);
  }

  /** Takes the names of the APIs that are bound to the provider. */
  setBound(apis: readonly string[]): void {
    for (const api of this.#bound) if (!apis.includes(api)) this.#shown.delete(api);
    for (const api of apis) if (!this.#bound.includes(api)) this.#enqueue(api);
    this.#bound = apis;
  }

  /** Returns the hold of the API, the same until it is forgotten. */
  holdOf(api: string, plural: string): LimitHold {
    const known = this.#holds.get(api);
    if (known !== undefined) return known;
    const hold = new LimitHold({
      plural,
      retryMs: this.#options.runtime.timing.limitRetryMs,
      wake: (keys) => this.#options.wake(api, keys),
      onChange: () => this.#enqueue(api),
    });
    this.#holds.set(api, hold);
    this.#enqueue(api);
    return hold;
  }

  forget(api: string): void {
    this.#holds.delete(api);
  }

  #enqueue(api: string): void {
    this.#controller.enqueue(api, { reason: wakeReasons.limitChanged });
  }

  async #reconcile(api: string): Promise<ReconcileResult | undefined> {
    const { bindingKeyOf, count, runtime } = this.#options;
    const key = bindingKeyOf(api);
    if (key === undefined || this.#limits === undefined) return undefined;
    const now = runtime.clock.monotonic();
    const told = this.#limits.get(api);
    const soonInMs = (this.#countedAt.get(api) ?? -writeSoonMs) + writeSoonMs - now;
    if (told !== undefined && soonInMs > 0) return { requeueAfterMs: soonInMs };
    if (told !== undefined) this.#countedAt.set(api, now);
    const limit = told && { ...told, used: Math.max(told.used, count(api)) };
    const hold = this.#holds.get(api);
    hold?.set(limit);
    return sooner(this.#show(api, key, limit, now), hold?.retry(now));
  }

  /** Returns the milliseconds after which it is to be shown, when that is too soon now. */
  #show(api: string, key: string, limit: ApiLimit | undefined, now: number): number | undefined {
    const shown = this.#shown.get(api);
    if (shown !== undefined) {
      if (jsonEqual(shown.limit, limit)) return undefined;
      const waitMs = shown.at + waitBetween(shown.limit, limit) - now;
      if (waitMs > 0) return waitMs;
    }
    this.#shown.set(api, { limit, at: now });
    this.#options.status.reportLimit(key, limit);
    return undefined;
  }
}

/** Returns how long after the one before a limit is written, in milliseconds. */
function waitBetween(before: ApiLimit | undefined, limit: ApiLimit | undefined): number {
  if (before === undefined || limit === undefined) return 0;
  const isOnlyUse = jsonEqual({ ...before, used: 0 }, { ...limit, used: 0 });
  return isOnlyUse && isLimitReached(before) === isLimitReached(limit) ? writeEveryMs : writeSoonMs;
}

function sooner(one: number | undefined, other: number | undefined): ReconcileResult | undefined {
  const times = [one, other].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : { requeueAfterMs: Math.min(...times) };
}
