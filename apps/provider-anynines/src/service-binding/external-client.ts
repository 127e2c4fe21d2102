/** The external client of ServiceBinding: one binding at a service broker. */
import type { ManagedServiceBinding } from "@klutch/api";
import type {
  CallOptions,
  ConnectionDetails,
  CriticalAnnotationUpdate,
  ExternalClient,
  Observation,
} from "@klutch/crossplane";
import { type Broker, brokerFor } from "../broker/brokers.ts";
import { toExternalError } from "../operations/answers.ts";
import { outcomeOf } from "../operations/operations.ts";
import type { Observed, Report } from "../operations/step.ts";
import { type AnnotationChanges, createdChange, missingChange } from "../records/annotations.ts";
import type { OperationTarget } from "../records/operation.ts";
import { bind, bindableInstance, type MissingInstance, missingInstance } from "./bind.ts";
import { BindingObserver, type BindingObserverOptions } from "./observe.ts";
import { checkNotRestored } from "../claims/waiting.ts";
import { isWanted } from "./rotation/plan.ts";
import { versionsChange } from "../records/credential-versions.ts";
import { type BoundPlan, Rotation } from "./rotation/rotation.ts";
import { type BindingRef, BindingState } from "./state.ts";

/** Dependencies of the client of one binding. */
export interface BindingClientOptions extends Omit<BindingObserverOptions, "state" | "rotation"> {
  readonly managed: ManagedServiceBinding;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  /** Says that where its service is reached is not understood. */
  readonly notice: (message: string) => void;
  /** Names of the instances in the namespace of its claim. */
  readonly beside: () => readonly string[];
  /** Says that the namespace of its claim lacks the instance. */
  readonly missing: (missing: MissingInstance) => void;
  /** Names of the restores that put something into its instance now. */
  readonly restores: () => readonly string[];
  /** Content of the Secret; undefined when none exists. */
  readonly published: (options: CallOptions) => Promise<ConnectionDetails | undefined>;
  /** Resolves when the Secret holds the details. */
  readonly publish: (details: ConnectionDetails, options: CallOptions) => Promise<void>;
}

/**
 * Lives for one reconcile. The binding's id follows from the managed resource, and each call is recorded before it is made, so every call
 * can be repeated after a crash. A lost binding is created again by itself, unless its instance is missing too. A broker cannot change a binding,
 * so an update rotates its credentials, and does nothing else.
 */
export class ServiceBindingClient implements ExternalClient {
  readonly #options: BindingClientOptions;
  readonly #broker: Broker;
  readonly #state: BindingState;
  readonly #rotation: Rotation;
  readonly #observer: BindingObserver;

  constructor(options: BindingClientOptions) {
    this.#options = options;
    const broker = brokerFor(options.broker, options.managed);
    this.#broker = broker;
    this.#state = new BindingState({ ...options, broker });
    const { managed } = options;
    this.#rotation = new Rotation({
      ...options,
      broker,
      state: this.#state,
      bind: (ref, predecessor, call) => bind(broker, managed, ref, predecessor, call),
      bindablePlan: () => this.#bindablePlan(),
    });
    this.#observer = new BindingObserver({
      ...options,
      broker,
      state: this.#state,
      rotation: this.#rotation,
    });
  }

  observe(options: CallOptions): Promise<Observation> {
    return this.#observer.observe(options);
  }

  async create(options: CallOptions): Promise<void> {
    const { managed, restores } = this.#options;
    const state = this.#state;
    checkNotRestored(restores(), "it is bound");
    if (state.hasLeftovers) {
      // Deletes what a bind left (OSB "Orphan Mitigation").
      await this.#unbind("discard", options);
      // The broker still works on it, or what failed waits for another spec.
      if (state.operation !== undefined) return;
    }
    state.updateAtProvider(this.#bindableInstance());
    const target = targetOf(state.ref);
    const also = {
      before: this.#answersRequest(),
      done: { ...missingChange(undefined), ...createdChange(target) },
    };
    const send = async (): Promise<Observed> => {
      const outcome = await bind(this.#broker, managed, state.ref, undefined, options);
      if (outcome.kind === "done") state.adopt(outcome.credentials);
      return outcomeOf(outcome);
    };
    await state.operations.begin({ type: "create", target, also, send }, options);
  }

  /** A new binding has the newest credentials. */
  #answersRequest(): AnnotationChanges {
    const { versions, wish } = this.#state;
    const { rotate: request } = wish;
    return isWanted(versions, wish) ? versionsChange({ ...versions, request }) : {};
  }

  #bindablePlan(): BoundPlan {
    checkNotRestored(this.#options.restores(), "it is rotated");
    const { serviceID = "", planID = "" } = this.#bindableInstance();
    return { serviceId: serviceID, planId: planID };
  }

  /** Throws `NotYetError` as `bindableInstance` does. */
  #bindableInstance(): ReturnType<typeof bindableInstance> {
    const { instance, beside, managed, missing } = this.#options;
    const found = instance();
    const others = beside();
    if (found === undefined) missing(missingInstance(managed, others));
    return bindableInstance(managed, found, others);
  }

  async update(options: CallOptions): Promise<void> {
    try {
      await this.#rotation.run(options);
    } catch (error) {
      throw toExternalError(error, "change");
    }
  }

  async delete(options: CallOptions): Promise<void> {
    const state = this.#state;
    try {
      if (!(await this.#rotation.end(options))) return;
    } catch (error) {
      throw toExternalError(error, "change");
    }
    const said = await this.#unbind("delete", options);
    if (said.kind === "gone") state.updateAtProvider({ state: "Deleted" });
  }

  /** Only 404 and 410 mean gone: a broker that is down must not make us forget valid credentials. */
  #unbind(type: "delete" | "discard", options: CallOptions): Promise<Report> {
    const { ref, operations } = this.#state;
    const send = async (): Promise<Observed> => outcomeOf(await this.#broker.osb.unbind(ref, options));
    return operations.begin({ type, target: targetOf(ref), send }, options);
  }
}

/** Fields that the record of a call needs so that the binding can be found by the record alone. */
function targetOf({ instanceId, serviceId, planId }: BindingRef): OperationTarget {
  return { instanceId, serviceId, planId };
}
