/** The external client of ServiceBinding: one binding at a service broker. */
import type { ManagedServiceBinding } from "@klutch/api";
import type { CallOptions, CriticalAnnotationUpdate, ExternalClient, Observation } from "@klutch/crossplane";
import { type BindOutcome, type BindRequest, type BindResource, isAppRequired, isGone } from "@klutch/osb";
import type { Broker } from "../broker/brokers.ts";
import { brokerFor } from "../broker/identity.ts";
import { toExternalError } from "../broker/broker-error.ts";
import { observeByPhase } from "../broker/observe-by-phase.ts";
import { missingChange } from "../critical-annotations.ts";
import type { OperationTarget } from "../operation.ts";
import { bindableInstance } from "./bindable-instance.ts";
import { BindingObserver, type BindingObserverOptions } from "./observe.ts";
import { checkNotRestored } from "../instance-users.ts";
import { type BindingRef, BindingState } from "./state.ts";

/** What the client of one binding needs. */
export interface BindingClientOptions extends Omit<BindingObserverOptions, "state"> {
  readonly managed: ManagedServiceBinding;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  /** Says that where its service is reached is not understood. */
  readonly notice: (message: string) => void;
  /** Names of the restores that put something into its instance now. */
  readonly restores: () => readonly string[];
}

/**
 * Lives for one reconcile. The binding's id follows from the managed resource, and each call is recorded before it is made, so every call
 * can be repeated after a crash. A lost binding is made anew by itself, unless its instance is missing too. An update does nothing: a
 * broker cannot change a binding.
 */
export class ServiceBindingClient implements ExternalClient {
  readonly #options: BindingClientOptions;
  readonly #broker: Broker;
  readonly #state: BindingState;
  readonly #observer: BindingObserver;

  constructor(options: BindingClientOptions) {
    this.#options = options;
    const broker = brokerFor(options.broker, options.managed);
    this.#broker = broker;
    this.#state = new BindingState({ ...options, broker });
    this.#observer = new BindingObserver({ ...options, broker, state: this.#state });
  }

  observe(options: CallOptions): Promise<Observation> {
    return observeByPhase(this.#state.operation, this.#observer, options);
  }

  async create(options: CallOptions): Promise<void> {
    const { instance, managed, restores } = this.#options;
    const state = this.#state;
    checkNotRestored(restores(), "it is bound");
    if (state.hasLeftovers) {
      await this.#discard(options);
      // The broker still works on it, or what failed waits for another spec.
      if (state.operation !== undefined) return;
    }
    state.updateAtProvider(bindableInstance(managed, instance()));
    const { parameters, context, acceptsIncomplete } = managed.spec.forProvider;
    const bindResource = bindResourceOf(managed);
    const request = { ...state.ref, parameters, context, acceptsIncomplete, bindResource };
    try {
      const outcome = await state.operations.perform("create", () => this.#bind(request, options), {
        done: missingChange(undefined),
        plan: targetOf(state.ref),
      });
      if (outcome.kind === "done") state.adopt(outcome.credentials);
    } catch (error) {
      throw toExternalError(error, "change");
    }
  }

  /** Brokers that bind applications only get the binding itself as one, unless the spec names another: a claim has none. */
  async #bind(request: BindRequest, options: CallOptions): Promise<BindOutcome> {
    const { osb } = this.#broker;
    try {
      return await osb.bind(request, options);
    } catch (error) {
      if (!isAppRequired(error) || request.bindResource?.appGuid !== undefined) throw error;
      const bindResource = { ...request.bindResource, appGuid: request.bindingId };
      return osb.bind({ ...request, bindResource }, options);
    }
  }

  /** Deletes what a bind left (OSB "Orphan Mitigation"). */
  async #discard(options: CallOptions): Promise<void> {
    const { ref, operations } = this.#state;
    try {
      await operations.discard(() => this.#broker.osb.unbind(ref, options), targetOf(ref));
    } catch (error) {
      throw toExternalError(error, "change");
    }
  }

  async update(): Promise<void> {}

  async delete(options: CallOptions): Promise<void> {
    const state = this.#state;
    const { ref } = state;
    try {
      await state.operations.perform("delete", () => this.#broker.osb.unbind(ref, options), {
        plan: targetOf(ref),
      });
    } catch (error) {
      // Only 404 and 410 mean gone: a broker that is down must not make us forget valid credentials.
      if (!isGone(error)) throw toExternalError(error, "change");
      await state.operations.clear();
    }
    if (state.operation === undefined) state.updateAtProvider({ state: "Deleted" });
  }
}

/** Undefined when the spec names nothing. */
function bindResourceOf({ spec }: ManagedServiceBinding): BindResource | undefined {
  const { appGuid: known, bindResource } = spec.forProvider;
  const { appGuid = known, route } = bindResource ?? {};
  return appGuid === undefined && route === undefined ? undefined : { appGuid, route };
}

/** What the record of a call must say, so that the binding can be found by it alone. */
function targetOf({ instanceId, serviceId, planId }: BindingRef): OperationTarget {
  return { instanceId, serviceId, planId };
}
