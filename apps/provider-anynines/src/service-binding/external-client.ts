/** The external client of ServiceBinding: one binding at a service broker. */
import type { ManagedServiceBinding } from "@klutch/api";
import type { CallOptions, CriticalAnnotationUpdate, ExternalClient, Observation } from "@klutch/crossplane";
import { isGone, mayHaveLeftOrphan } from "@klutch/osb";
import { toExternalError } from "../broker/broker-error.ts";
import { observeByPhase } from "../broker/observe-by-phase.ts";
import { missingChange } from "../critical-annotations.ts";
import { bindableInstance } from "./bindable-instance.ts";
import { BindingObserver, type BindingObserverOptions } from "./observe.ts";
import { checkNotRestored } from "../instance-users.ts";
import { BindingState } from "./state.ts";

/** What the client of one binding needs. */
export interface BindingClientOptions extends Omit<BindingObserverOptions, "state"> {
  readonly managed: ManagedServiceBinding;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
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
  readonly #state: BindingState;
  readonly #observer: BindingObserver;

  constructor(options: BindingClientOptions) {
    this.#options = options;
    this.#state = new BindingState(options);
    this.#observer = new BindingObserver({ ...options, state: this.#state });
  }

  observe(options: CallOptions): Promise<Observation> {
    return observeByPhase(this.#state.operation, this.#observer, options);
  }

  async create(options: CallOptions): Promise<void> {
    const { broker, instance, managed, restores } = this.#options;
    const state = this.#state;
    checkNotRestored(restores(), "it is bound");
    state.updateAtProvider(bindableInstance(managed, instance()));
    const { parameters, context, acceptsIncomplete } = managed.spec.forProvider;
    const request = { ...state.ref, parameters, context, acceptsIncomplete };
    try {
      const outcome = await state.operations.perform("create", () => broker.osb.bind(request, options), {
        done: missingChange(undefined),
      });
      if (outcome.kind === "done") state.adopt(outcome.credentials);
    } catch (error) {
      if (!mayHaveLeftOrphan(error)) await state.operations.clear();
      throw toExternalError(error, "change");
    }
  }

  async update(): Promise<void> {}

  async delete(options: CallOptions): Promise<void> {
    const { broker } = this.#options;
    const state = this.#state;
    try {
      await state.operations.perform("delete", () => broker.osb.unbind(state.ref, options));
    } catch (error) {
      // Only 404 and 410 mean gone: a broker that is down must not make us forget valid credentials.
      if (!isGone(error)) throw toExternalError(error, "change");
      await state.operations.clear();
    }
    if (state.operation === undefined) state.updateAtProvider({ state: "Deleted" });
  }
}
