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
import { type Broker, brokerFor } from "../broker/brokers.ts";
import { brokerText } from "../operations/answers.ts";
import { outcomeOf } from "../operations/operations.ts";
import type { Observed, Report } from "../operations/step.ts";
import { changeOf, livingPlan, type PlanIds, planNameOf, planOf } from "../broker/plan-lookup.ts";
import { instanceContext, type RequestContext, withContextHint } from "../broker/request-context.ts";
import { nextInstanceChange, provisionedAsChange } from "../records/annotations.ts";
import { InstanceObserver, type InstanceObserverOptions } from "./observe.ts";
import { madeElsewhere } from "./made-elsewhere.ts";
import { deprovisionRequest, idsOf, provisionRequest, updateRequest } from "./requests.ts";
import { InstanceState } from "./state.ts";
import { checkNotRestored, checkUnused, type InstanceUsers } from "../claims/waiting.ts";

/** Dependencies of the client of one instance. */
export interface InstanceClientOptions extends Omit<InstanceObserverOptions, "state"> {
  readonly managed: ServiceInstance;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  readonly users: () => InstanceUsers;
}

/**
 * Lives for one reconcile. The instance's id follows from the managed resource, and each call is recorded before it is made, so every
 * call can be repeated after a crash. A lost instance is never created again without a person's permission, its service cannot be changed, and
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
    return this.#observer.observe(options);
  }

  async create(options: CallOptions): Promise<void> {
    const state = this.#state;
    if (state.hasLeftovers) {
      await this.#discard(options);
      // The broker still works on it, or what failed waits for another spec.
      if (state.operation !== undefined) return;
    }
    const plan = idsOf(await planOf(this.#broker, state.managed, options));
    const request = provisionRequest(state.managed, state.instanceId, plan, this.#context());
    const { instanceId, parameters } = request;
    state.updateAtProvider({ instanceId, ...plan, parameters, state: "deploying" });
    const sent = state.sentParameters();
    const before = { ...sent.before, ...state.usageAsk() };
    const done = { ...sent.done, ...provisionedAsChange({ instanceId, ...plan }) };
    const also = {
      ...sent,
      before,
      // Read when the broker has answered.
      get done() {
        return { ...done, ...state.usageBegin() };
      },
    };
    const send = async (): Promise<Observed> =>
      outcomeOf(await this.#hinted(() => this.#broker.osb.provision(request, options)));
    const said = await state.operations.begin({ type: "create", target: plan, also, send }, options);
    if (said.kind === "done") state.updateAtProvider({ state: "provisioned" });
  }

  async update(options: CallOptions): Promise<void> {
    checkNotRestored(this.#users().restores, "it is changed");
    const state = this.#state;
    const catalog = await this.#broker.catalog(options);
    const wanted = livingPlan(catalog, state.managed.spec.forProvider, state.made);
    const plan: PlanIds = { serviceId: wanted.serviceId, planId: wanted.planId };
    const { serviceId = plan.serviceId, planId = plan.planId } = state.atProvider;
    if (serviceId !== plan.serviceId) {
      throw new ExternalError(
        "the service of an instance cannot be changed; create a new instance and move the data " +
          brokerText(`(the instance is of the service id ${serviceId}, the spec of ${plan.serviceId})`),
        { reason: "Refused" },
      );
    }
    const changes = state.parameterChanges();
    const request = updateRequest(state.managed, state.instanceId, plan, changes, this.#context());
    const sent = state.sentParameters();
    const before = { ...sent.before, ...state.usageAsk(planNameOf(catalog, planId)) };
    const description = changeOf(catalog, planId, plan.planId);
    await state.operations.begin(
      {
        type: "update",
        // A broker is asked for a change by the plan before it (OSB "Polling Last Operation").
        target: { serviceId, planId },
        description,
        also: {
          ...sent,
          before,
          get done() {
            return { ...sent.done, ...state.usageBegin() };
          },
        },
        send: async () => outcomeOf(await this.#hinted(() => this.#broker.osb.update(request, options))),
      },
      options,
    );
    const { parameters } = state.managed.spec.forProvider;
    state.updateAtProvider({ planId: plan.planId, parameters });
  }

  async delete(options: CallOptions): Promise<void> {
    checkUnused(this.#users());
    const said = await this.#deprovision("delete", options);
    if (said.kind === "gone") this.#state.updateAtProvider({ state: "deleted" });
  }

  /** Deletes what a failed create left (OSB "Orphan Mitigation"). When that is done, the instance goes on under its next id. */
  async #discard(options: CallOptions): Promise<void> {
    const said = await this.#deprovision("discard", options);
    if (said.kind === "gone") this.#state.startNextInstance();
  }

  async #deprovision(type: "delete" | "discard", options: CallOptions): Promise<Report> {
    const state = this.#state;
    const target = await this.#plan(options);
    const request = deprovisionRequest(state.instanceId, target);
    const also = {
      discarded: nextInstanceChange(state.instanceId),
      get done() {
        return state.usageEnd();
      },
    };
    const send = async (): Promise<Observed> => {
      try {
        return outcomeOf(await this.#broker.osb.deprovision(request, options));
      } catch (error) {
        const elsewhere = isGone(error) ? madeElsewhere(state.managed, state.recordedPlan) : undefined;
        if (elsewhere === undefined) throw error;
        throw new ExternalError(elsewhere, { reason: "Refused", cause: error });
      }
    };
    return state.operations.begin({ type, target, also, send }, options);
  }

  #context(): RequestContext {
    return instanceContext(this.#state.managed, this.#broker.context);
  }

  #hinted<T>(send: () => Promise<T>): Promise<T> {
    return withContextHint(this.#state.managed, this.#broker.context, send);
  }

  /** Plan of the instance that exists or was asked for; before that, the plan of the spec. */
  async #plan(options: CallOptions): Promise<Partial<PlanIds>> {
    const plan = this.#state.planIds();
    return plan.serviceId === undefined
      ? idsOf(await planOf(this.#broker, this.#state.managed, options))
      : plan;
  }
}
