/** What instances and bindings share: one recorded operation at a time, polled until it ends. */
import type { Managed, Observation } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { isGone, type LastOperation, type Outcome } from "@klutch/osb";
import type { AnnotationChanges, CriticalAnnotations } from "../critical-annotations.ts";
import { type BrokerOperation, operationAnnotation, recordedOperation } from "../operation.ts";
import { brokerText } from "./broker-error.ts";

/** How often a running operation is asked for when the broker does not say. */
const defaultPollMs = 2_000;
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
   * Writes the intent, makes the call, writes what came of it. A refused call leaves no record. `before` and `done` are
   * written together with the intent and with the end of an operation that was done at once.
   */
  async perform<T extends Outcome | { readonly kind: "done" }>(
    type: BrokerOperation["type"],
    call: () => Promise<T>,
    also: {
      readonly before?: AnnotationChanges;
      readonly done?: AnnotationChanges;
      readonly plan?: Pick<BrokerOperation, "serviceId" | "planId"> | undefined;
      /** What is done, in words, while the broker works. */
      readonly description?: string | undefined;
    } = {},
  ): Promise<T> {
    const startedAt = this.#options.clock.now();
    const { generation } = this.#options.managed.metadata;
    const { description } = also;
    const operation = { type, startedAt, generation, ...also.plan, description };
    await this.#store({ ...operation, phase: "calling" }, also.before);
    const outcome = await call();
    if (outcome.kind === "accepted")
      await this.#store({ ...operation, phase: "polling", key: outcome.operation });
    else await this.clear(also.done);
    return outcome;
  }

  async clear(also?: AnnotationChanges): Promise<void> {
    await this.#store(undefined, also);
  }

  /** Keeps a failure until the spec changes or somebody deletes the resource. */
  async fail(said: string): Promise<void> {
    if (this.#current === undefined) return;
    const description = brokerText(said);
    await this.#store({ ...this.#current, phase: "failed", description });
  }

  /** State of the polled operation; `gone` when the broker does not know the resource any more. */
  async poll(maximumPollingSeconds?: number): Promise<LastOperation | "gone"> {
    const operation = this.#current;
    if (operation === undefined) throw new RangeError("there is no operation to poll");
    const maxMs = maximumPollingSeconds === undefined ? defaultMaxPollingMs : maximumPollingSeconds * 1000;
    if (this.#options.clock.now() - operation.startedAt > maxMs) {
      return { state: "failed", description: `the broker did not finish within ${maxMs / 1000} s` };
    }
    try {
      return await this.#options.poll(operation.key);
    } catch (error) {
      if (isGone(error)) return "gone";
      throw error;
    }
  }

  async #store(operation: BrokerOperation | undefined, also: AnnotationChanges = {}): Promise<void> {
    this.#current = operation;
    await this.#options.annotations.write({
      ...also,
      [operationAnnotation]: operation === undefined ? undefined : JSON.stringify(operation),
    });
  }
}

/** What to observe while an operation runs, and when to ask again. */
export function inProgress(
  ready: Observation["ready"],
  last: LastOperation,
): Pick<Observation, "ready" | "message" | "pollAfterMs"> {
  const message = brokerText(last.description) || undefined;
  return { ready, message, pollAfterMs: last.retryAfterMs ?? defaultPollMs };
}
