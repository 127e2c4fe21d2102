/** The external client of ServiceInstance: one instance at a service broker. */
import type { ServiceInstance } from "@klutch/api";
import {
  type CallOptions,
  type CriticalAnnotationUpdate,
  type ExternalClient,
  ExternalError,
  type Observation,
} from "@klutch/crossplane";
import { isGone } from "@klutch/osb";
import type { Broker } from "../broker/brokers.ts";
import { brokerFor } from "../broker/identity.ts";
import { toExternalError } from "../operations/broker-error.ts";
import { observeByPhase } from "../operations/observe-by-phase.ts";
import { changeOf, planOf } from "../broker/plan-lookup.ts";
import { nextInstanceChange, provisionedAsChange } from "../records/annotations.ts";
import { InstanceObserver, type InstanceObserverOptions } from "./observe.ts";
import { deprovisionRequest, idsOf, type PlanIds, provisionRequest, updateRequest } from "./requests.ts";
import { InstanceState } from "./state.ts";
import { checkNotRestored, checkUnused, type InstanceUsers } from "../claims/instance-users.ts";

/** What the client of one instance needs. */
export interface InstanceClientOptions extends Omit<InstanceObserverOptions, "state"> {
  readonly managed: ServiceInstance;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  readonly users: () => InstanceUsers;
}

/**
 * Lives for one reconcile. The instance's id follows from the managed resource, and each call is recorded before it is made, so every
 * call can be repeated after a crash. A lost instance is never made anew without a person's permission, its service cannot be changed, and
 * while somebody uses it it is not deleted.
 */
export class ServiceInstanceClient implements ExternalClient {
  readonly #broker: Broker;
  readonly #users: () => InstanceUsers;
  readonly #state: InstanceState;
  readonly #observer: InstanceObserver;

  constructor(options: InstanceClientOptions) {
    const broker = brokerFor(options.broker, options.managed);
    this.#broker = broker;
    this.#users = options.users;
    this.#state = new InstanceState({ ...options, broker });
    this.#observer = new InstanceObserver({ ...options, broker, state: this.#state });
  }

  observe(options: CallOptions): Promise<Observation> {
    return observeByPhase(this.#state.operation, this.#observer, options);
  }

  async create(options: CallOptions): Promise<void> {
    const state = this.#state;
    if (state.hasLeftovers) {
      await this.#discard(options);
      // The broker still works on it, or what failed waits for another spec.
      if (state.operation !== undefined) return;
    }
    const plan = idsOf(await planOf(this.#broker, state.managed, options));
    const request = provisionRequest(state.managed, state.instanceId, plan);
    const { instanceId, parameters } = request;
    state.updateAtProvider({ instanceId, ...plan, parameters, state: "deploying" });
    const sent = state.sentParameters();
    const done = { ...sent.done, ...provisionedAsChange({ instanceId, ...plan }) };
    try {
      const outcome = await state.operations.perform(
        "create",
        () => this.#broker.osb.provision(request, options),
        { ...sent, done, plan },
      );
      if (outcome.kind === "done") state.updateAtProvider({ state: "provisioned" });
    } catch (error) {
      throw toExternalError(error, "change");
    }
  }

  async update(options: CallOptions): Promise<void> {
    checkNotRestored(this.#users().restores, "it is changed");
    const state = this.#state;
    const plan = idsOf(await planOf(this.#broker, state.managed, options));
    const { serviceId = plan.serviceId, planId = plan.planId } = state.atProvider;
    if (serviceId !== plan.serviceId) {
      throw new ExternalError(
        "the service of an instance cannot be changed; create a new instance and move the data",
        { reason: "Refused" },
      );
    }
    const request = updateRequest(state.managed, state.instanceId, plan, state.parameterChanges());
    const description = changeOf(await this.#broker.catalog(options), planId, plan.planId);
    try {
      await state.operations.perform("update", () => this.#broker.osb.update(request, options), {
        ...state.sentParameters(),
        // A broker is asked for a change by the plan before it (OSB "Polling Last Operation").
        plan: { serviceId, planId },
        description,
      });
      const { parameters } = state.managed.spec.forProvider;
      state.updateAtProvider({ planId: plan.planId, parameters });
    } catch (error) {
      throw toExternalError(error, "change");
    }
  }

  async delete(options: CallOptions): Promise<void> {
    checkUnused(this.#users());
    const state = this.#state;
    const plan = await this.#plan(options);
    const request = deprovisionRequest(state.instanceId, plan);
    try {
      await state.operations.perform("delete", () => this.#broker.osb.deprovision(request, options), {
        plan,
      });
    } catch (error) {
      if (!isGone(error)) throw toExternalError(error, "change");
      await state.operations.clear();
    }
    if (state.operation === undefined) state.updateAtProvider({ state: "deleted" });
  }

  /** Deletes what a failed create left (OSB "Orphan Mitigation"). When that is done, the instance goes on under its next id. */
  async #discard(options: CallOptions): Promise<void> {
    const state = this.#state;
    const plan = await this.#plan(options);
    const request = deprovisionRequest(state.instanceId, plan);
    const done = nextInstanceChange(state.instanceId);
    try {
      await state.operations.discard(() => this.#broker.osb.deprovision(request, options), plan, done);
    } catch (error) {
      throw toExternalError(error, "change");
    }
    if (state.operation?.type !== "discard") state.startNextInstance();
  }

  /** Of the instance that is there or was asked for; before that, the plan of the spec. */
  async #plan(options: CallOptions): Promise<Partial<PlanIds>> {
    const plan = this.#state.planIds();
    return plan.serviceId === undefined
      ? idsOf(await planOf(this.#broker, this.#state.managed, options))
      : plan;
  }
}
