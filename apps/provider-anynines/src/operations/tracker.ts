/** What instances and bindings share: one recorded operation at a time, polled until it ends. */
import type { Managed, Observation } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import {
  isGone,
  type LastOperation,
  mayHaveLeftOrphan,
  type Outcome,
  OsbError,
  OsbTransportError,
} from "@klutch/osb";
import type { AnnotationChanges, CriticalAnnotations } from "../records/annotations.ts";
import {
  type BrokerOperation,
  operationAnnotation,
  type OperationTarget,
  recordedOperation,
} from "../records/operation.ts";
import { pollDelayMs } from "./poll-pace.ts";
import { afterCreate } from "./after-create.ts";
import { brokerText } from "./broker-error.ts";
import { countFailure, deletionWaitMs, keepCount } from "./deletion-retry.ts";

/** How long an operation may run when the plan does not say (OSB: the platform chooses). */
const defaultMaxPollingMs = 7 * 24 * 3600 * 1000;

/** Options of `OperationTracker`. */
export interface TrackerOptions {
  readonly managed: Managed;
  readonly annotations: CriticalAnnotations;
  readonly clock: Clock;
  /** Asks the broker for the operation with this key. */
  readonly poll: (key: string | undefined) => Promise<LastOperation>;
}

/** Keeps the record of one managed resource's operation. */
export class OperationTracker {
  readonly #options: TrackerOptions;
  #current: BrokerOperation | undefined;

  constructor(options: TrackerOptions) {
    this.#options = options;
    this.#current = recordedOperation(options.managed);
  }

  get current(): BrokerOperation | undefined {
    return this.#current;
  }

  /**
   * Writes the intent, makes the call, writes what came of it. A refused call leaves no record; a create without a good answer leaves
   * what `afterCreate` says. `before` and `done` are written together with the intent and with the end of an operation that was done at
   * once, `refused` with the end of a change that certainly was not done.
   */
  async perform<T extends Outcome | { readonly kind: "done" }>(
    type: BrokerOperation["type"],
    call: () => Promise<T>,
    also: {
      readonly before?: AnnotationChanges;
      readonly done?: AnnotationChanges;
      readonly refused?: AnnotationChanges;
      readonly plan?: OperationTarget | undefined;
      /** What is done, in words, while the broker works. */
      readonly description?: string | undefined;
    } = {},
  ): Promise<T> {
    const startedAt = this.#options.clock.now();
    const { generation } = this.#options.managed.metadata;
    const { description } = also;
    const count = keepCount(this.#current, type);
    const operation = { type, startedAt, generation, ...count, ...also.plan, description };
    const isRepeat = this.#current?.type === type && this.#current.phase === "calling";
    await this.#store({ ...operation, phase: "calling" }, also.before);
    let outcome: T;
    try {
      outcome = await call();
    } catch (error) {
      await this.#settle(error, isRepeat, also.refused);
      throw error;
    }
    if (outcome.kind === "accepted")
      await this.#store({ ...operation, phase: "polling", key: outcome.operation });
    else await this.clear(also.done);
    return outcome;
  }

  async clear(also?: AnnotationChanges): Promise<void> {
    await this.#store(undefined, also);
  }

  /**
   * Deletes what a create left, or may have left. `done` is written with the end of it. The record remembers what the create failed with,
   * so that the same spec is not tried again.
   */
  async discard(
    call: () => Promise<Outcome>,
    plan: OperationTarget,
    done?: AnnotationChanges,
  ): Promise<void> {
    const { type, phase, failure, description = "", generation } = this.#current ?? {};
    const record = {
      type: "discard",
      startedAt: this.#options.clock.now(),
      generation,
      ...keepCount(this.#current, "discard"),
      ...plan,
      failure: type === "create" && phase === "failed" ? description : failure,
    } as const;
    await this.#store({ ...record, phase: "calling" });
    try {
      const outcome = await call();
      if (outcome.kind === "accepted") {
        await this.#store({ ...record, phase: "polling", key: outcome.operation });
        return;
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    await this.endDiscard(done);
  }

  /** What a create left is gone. A create that failed stays as failed while the spec is the same. */
  async endDiscard(also?: AnnotationChanges): Promise<void> {
    const { failure, generation, startedAt = 0, serviceId, planId, instanceId } = this.#current ?? {};
    if (failure === undefined || generation !== this.#options.managed.metadata.generation) {
      await this.clear(also);
      return;
    }
    const failed = { type: "create", phase: "failed", description: failure, discarded: true } as const;
    await this.#store({ ...failed, generation, startedAt, serviceId, planId, instanceId }, also);
  }

  /** Keeps a failure until the spec changes, somebody deletes the resource, or the time of a deletion's next attempt comes. */
  async fail(said: string): Promise<void> {
    const operation = this.#current;
    if (operation === undefined) return;
    const description = brokerText(said);
    const count = countFailure(operation, this.#options.clock.now());
    await this.#store({ ...operation, ...count, phase: "failed", description });
  }

  /** Milliseconds until a deletion that failed may be asked for again; undefined when it may now, or nothing of the kind failed. */
  get deletionWaitMs(): number | undefined {
    return deletionWaitMs(this.#current, this.#options.clock.now());
  }

  /** State of the polled operation; `gone` when the broker does not know the resource any more. */
  async poll(maximumPollingSeconds?: number): Promise<LastOperation | "gone"> {
    const operation = this.#current;
    if (operation === undefined) throw new RangeError("there is no operation to poll");
    const maxMs = maximumPollingSeconds === undefined ? defaultMaxPollingMs : maximumPollingSeconds * 1000;
    const ageMs = this.#options.clock.now() - operation.startedAt;
    if (ageMs > maxMs) {
      return { state: "failed", description: `the broker did not finish within ${maxMs / 1000} s` };
    }
    try {
      const last = await this.#options.poll(operation.key);
      // Not later than the moment at which it counts as failed.
      return { ...last, retryAfterMs: Math.min(last.retryAfterMs ?? pollDelayMs(ageMs), maxMs - ageMs + 1) };
    } catch (error) {
      if (isGone(error)) return "gone";
      throw error;
    }
  }

  /** The record after a call without a good answer. What is deleted stays recorded until it is known to be gone. */
  async #settle(error: unknown, isRepeat: boolean, refused?: AnnotationChanges): Promise<void> {
    const operation = this.#current;
    if (operation === undefined) return;
    if (operation.type === "create") {
      const next = afterCreate(error, isRepeat);
      if (next === "forget") await this.clear();
      if (next === "discard") await this.#store({ ...operation, type: "discard" });
    }
    const isAnswer = error instanceof OsbError || error instanceof OsbTransportError;
    // The call before it may have been done, although its answer was lost.
    if (operation.type === "update" && isAnswer && !mayHaveLeftOrphan(error))
      await this.clear(isRepeat ? {} : refused);
  }

  async #store(operation: BrokerOperation | undefined, also: AnnotationChanges = {}): Promise<void> {
    this.#current = operation;
    await this.#options.annotations.write({
      ...also,
      [operationAnnotation]: operation === undefined ? undefined : JSON.stringify(operation),
    });
  }
}

/**
 * What to observe while an operation runs, and when to ask again. Behind what a create left stands that create: a broker that fails each one
 * would be asked for the next as soon as it has deleted the one before.
 */
export function inProgress(
  ready: Observation["ready"],
  last: LastOperation,
  type: BrokerOperation["type"] | undefined,
): Pick<Observation, "ready" | "message" | "pollAfterMs" | "keepsBackOff"> {
  const message = brokerText(last.description) || undefined;
  return { ready, message, pollAfterMs: last.retryAfterMs, keepsBackOff: type === "discard" };
}
