/** The external client of ServiceInstance. The instance's id follows from the managed resource, so every call can be repeated. */
import type { ServiceInstance } from "@klutch/api";
import {
  type CallOptions,
  type ExternalClient,
  ExternalError,
  type Observation,
  type Recorder,
} from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { isGone, mayHaveLeftOrphan, type OriginatingIdentity } from "@klutch/osb";
import { OperationTracker, toExternalError, waiting } from "../broker/operation-tracker.ts";
import type { Broker } from "../broker/brokers.ts";
import {
  deprovisionRequest,
  identityOf,
  idsOf,
  type PlanIds,
  provisionRequest,
  updateRequest,
} from "./requests.ts";
import { InstanceState } from "./state.ts";
import { decideLoss, type Losses, provisionAnewAnnotation, stepLoss } from "../loss.ts";
import { noteMissing, noteNextInstance } from "../critical-annotations.ts";
import type { BrokerOperation } from "../broker/operation.ts";
import { findPlan, type PlanChoice } from "../broker/plan-lookup.ts";

/** What the client of one instance needs. */
export interface InstanceClientOptions {
  readonly managed: ServiceInstance;
  readonly broker: Broker;
  readonly record: Recorder;
  readonly clock: Clock;
  /** Names of managed bindings that still use the instance. */
  readonly bindings: () => readonly string[];
  /** How it is with the instances of the same broker. */
  readonly losses: () => Losses;
  /** Time between two looks of which both must say that the broker does not know the instance. */
  readonly confirmLossMs: number;
}

/** Serves one pass over one ServiceInstance. A lost instance is never made anew without a person's permission. */
export class ServiceInstanceClient implements ExternalClient {
  readonly #options: InstanceClientOptions;
  readonly #state: InstanceState;
  readonly #tracker: OperationTracker;

  constructor(options: InstanceClientOptions) {
    const { managed, broker, record, clock } = options;
    this.#options = options;
    const state = new InstanceState(managed, record, clock);
    this.#state = state;
    const poll = (operation: string | undefined): ReturnType<typeof broker.osb.lastOperation> =>
      broker.osb.lastOperation({ instanceId: state.instanceId, operation, ...this.#plan() });
    this.#tracker = new OperationTracker({ managed, notes: state.notes, clock, poll });
  }

  async observe(options: CallOptions): Promise<Observation> {
    try {
      const operation = this.#tracker.current;
      if (operation?.phase === "polling") return await this.#observeOperation(options);
      if (operation?.phase === "failed") return await this.#observeFailure(options);
      if (operation?.phase === "calling") return this.#observeUnanswered(operation.type);
      return await this.#observeAtRest(options);
    } catch (error) {
      throw toExternalError(error);
    }
  }

  async create(options: CallOptions): Promise<void> {
    if (this.#hasLeftovers()) {
      await this.#discard(options);
      // The broker still works on it.
      if (this.#tracker.current !== undefined) return;
    }
    const plan = idsOf(await this.#choice(options));
    const request = provisionRequest(this.#state.managed, this.#state.instanceId, plan);
    const { parameters } = request;
    this.#state.learn({ instanceId: this.#state.instanceId, ...plan, parameters, state: "deploying" });
    try {
      const outcome = await this.#tracker.perform(
        "create",
        () => this.#options.broker.osb.provision(request, this.#call(options)),
        { ...this.#state.parameterNotes(), plan },
      );
      if (outcome.kind === "done") this.#state.learn({ state: "provisioned" });
    } catch (error) {
      // Unclear whether there is something: the record stays, and the same call with the same id is made again.
      if (!mayHaveLeftOrphan(error)) await this.#tracker.clear();
      throw toExternalError(error);
    }
  }

  async update(options: CallOptions): Promise<void> {
    const plan = idsOf(await this.#choice(options));
    if (
      this.#state.atProvider.serviceId !== undefined &&
      this.#state.atProvider.serviceId !== plan.serviceId
    ) {
      throw new ExternalError(
        "the service of an instance cannot be changed; create a new instance and move the data",
      );
    }
    const request = updateRequest(
      this.#state.managed,
      this.#state.instanceId,
      plan,
      this.#state.parameterChanges(),
    );
    try {
      await this.#tracker.perform(
        "update",
        () => this.#options.broker.osb.update(request, this.#call(options)),
        this.#state.parameterNotes(),
      );
      const { parameters } = this.#state.managed.spec.forProvider;
      this.#state.learn({ planId: plan.planId, parameters });
    } catch (error) {
      if (!mayHaveLeftOrphan(error)) await this.#tracker.clear();
      throw toExternalError(error);
    }
  }

  async delete(options: CallOptions): Promise<void> {
    const users = this.#options.bindings();
    if (users.length > 0) {
      throw new ExternalError(
        `the instance is still bound by ${users.join(", ")}; delete these ServiceBindings first`,
      );
    }
    const plan = await this.#planOrChoice(options);
    const request = deprovisionRequest(this.#state.instanceId, plan);
    try {
      await this.#tracker.perform(
        "delete",
        () => this.#options.broker.osb.deprovision(request, this.#call(options)),
        { plan },
      );
    } catch (error) {
      if (isGone(error)) await this.#tracker.clear();
      else throw toExternalError(error);
    }
    if (this.#tracker.current === undefined) this.#state.learn({ state: "deleted" });
  }

  /**
   * Whether a create that failed, or whose answer was lost before the spec changed, may have left something: the broker refuses to
   * make another thing of it. Never what was once in use.
   */
  #hasLeftovers(): boolean {
    const operation = this.#tracker.current;
    if (this.#state.atProvider.provisionedAt !== undefined) return false;
    // A provision that failed before repairs were known left this state and no record.
    if (operation === undefined) return this.#state.atProvider.state === "failed";
    return operation.type === "discard" || (operation.type === "create" && !this.#state.isOfNow(operation));
  }

  /** Deletes what a failed create left (OSB "Orphan Mitigation"). When that is done, the instance goes on under its next id. */
  async #discard(options: CallOptions): Promise<void> {
    const plan = await this.#planOrChoice(options);
    const request = deprovisionRequest(this.#state.instanceId, plan);
    const done = noteNextInstance(this.#state.instanceId);
    try {
      await this.#tracker.perform(
        "discard",
        () => this.#options.broker.osb.deprovision(request, this.#call(options)),
        { done, plan },
      );
    } catch (error) {
      if (!isGone(error)) throw toExternalError(error);
      await this.#tracker.clear(done);
    }
    if (this.#tracker.current === undefined) this.#state.beginAnew();
  }

  /** The broker accepted and works. */
  async #observeOperation(options: CallOptions): Promise<Observation> {
    const operation = this.#tracker.current;
    const last = await this.#tracker.poll(await this.#maximumPollingSeconds(options));
    const deleting = operation?.type === "delete";
    const discarding = operation?.type === "discard";
    if (discarding && (last === "gone" || last.state === "succeeded")) {
      await this.#tracker.clear(noteNextInstance(this.#state.instanceId));
      this.#state.beginAnew();
      return this.#observeAtRest(options);
    }
    if (last === "gone" && operation?.type === "create") {
      // Nothing was there yet that could be lost: the same call once more.
      return this.#state.observation({ exists: false, ready: "creating" }, "deploying");
    }
    if (last === "gone") {
      await this.#tracker.clear();
      if (deleting) return this.#state.observation({ exists: false, ready: "deleting" }, "deleted");
      return this.#observeMissing();
    }
    if (last.state === "in progress") {
      const ready =
        deleting || (discarding && this.#state.isDeleting)
          ? "deleting"
          : operation?.type === "update"
            ? "unavailable"
            : "creating";
      const state = deleting ? "deleting" : "deploying";
      return this.#state.observation(
        { exists: true, upToDate: true, ...waiting(ready, last) },
        state,
        operation?.key,
      );
    }
    if (last.state === "succeeded") {
      await this.#tracker.clear(
        this.#state.isOfNow(operation) && !deleting ? this.#state.parameterNotes().done : {},
      );
      if (deleting) return this.#state.observation({ exists: false, ready: "deleting" }, "deleted");
      this.#state.learn({ state: "provisioned" });
      return this.#observeAtRest(options);
    }
    await this.#tracker.fail(last.description);
    return this.#observeFailure(options);
  }

  /** The broker said that it failed. */
  async #observeFailure(options: CallOptions): Promise<Observation> {
    const operation = this.#tracker.current;
    const message = `${operation?.type ?? "operation"} failed: ${operation?.description ?? "the broker gave no reason"}`;
    if (this.#state.isDeleting) {
      return this.#state.observation(
        { exists: true, upToDate: true, ready: "unavailable", message },
        "failed",
      );
    }
    if (operation?.type === "discard") {
      return this.#state.observation({ exists: false, ready: "creating", message }, "failed");
    }
    if (operation?.type === "update" && this.#state.isOfNow(operation)) {
      // The instance is as before; what the broker cannot do is not asked again until the spec changes.
      const observed = await this.#observeAtRest(options);
      return { ...observed, upToDate: true, message };
    }
    if (operation?.type === "update") {
      await this.#tracker.clear();
      return this.#observeAtRest(options);
    }
    if (!this.#state.isOfNow(operation)) {
      return this.#state.observation({ exists: false, ready: "creating", message }, "failed");
    }
    return this.#state.observation({ exists: true, upToDate: true, ready: "unavailable", message }, "failed");
  }

  /** A call was on its way when the process ended or the connection broke: the same call again tells. */
  #observeUnanswered(type: BrokerOperation["type"]): Observation {
    if (this.#state.isDeleting)
      return this.#state.observation(
        { exists: true, ready: "unavailable" },
        this.#state.atProvider.state ?? "unknown",
      );
    if (type === "create" || type === "discard")
      return this.#state.observation({ exists: false, ready: "creating" }, "deploying");
    return this.#state.observation(
      { exists: true, upToDate: false, ready: "unavailable" },
      this.#state.atProvider.state ?? "unknown",
    );
  }

  async #observeAtRest(options: CallOptions): Promise<Observation> {
    const { state } = this.#state.atProvider;
    const deleting = this.#state.isDeleting;
    if (state === undefined || (deleting && state === "deleted")) {
      return this.#state.observation({ exists: false, ready: deleting ? "deleting" : "creating" }, state);
    }
    if (deleting)
      return this.#state.observation({ exists: true, upToDate: true, ready: "unavailable" }, state);
    const choice = await this.#choice(options);
    const known = choice.service.instancesRetrievable
      ? await this.#fetch(options)
      : state !== "deleted" && this.#state.notes.missing === undefined;
    if (!known && this.#hasLeftovers())
      return this.#state.observation({ exists: false, ready: "creating" }, state);
    if (!known) return this.#observeMissing();
    const samePlan = this.#state.atProvider.planId === choice.plan.id;
    const upToDate = samePlan && this.#state.parameterChanges() === undefined;
    await this.#state.notes.write({ ...noteMissing(undefined), ...this.#state.parameterNotes().before });
    return this.#state.observation({ exists: true, upToDate, ready: "available" }, "provisioned");
  }

  /** The broker does not know the instance: a person decides, because a new one would be empty. */
  async #observeMissing(): Promise<Observation> {
    const { clock, confirmLossMs, losses } = this.#options;
    const step = stepLoss(this.#state.notes.missing, clock.now(), confirmLossMs);
    await this.#state.notes.write(noteMissing(step.missing));
    const held = { exists: true, upToDate: true, ready: "unavailable" } as const;
    if (!step.missing.confirmed) {
      const message = `the broker does not know the instance ${this.#state.instanceId} any more; it is asked once more`;
      return this.#state.observation({ ...held, message, pollAfterMs: step.lookAgainMs }, "unknown");
    }
    const { name = "" } = this.#state.managed.metadata;
    const permission = this.#state.notes.get(provisionAnewAnnotation);
    const decision = decideLoss({ name, instanceId: this.#state.instanceId, permission, losses: losses() });
    if (decision.do === "hold")
      return this.#state.observation({ ...held, message: decision.message }, "lost");
    await this.#state.notes.write({
      ...noteNextInstance(this.#state.instanceId),
      [provisionAnewAnnotation]: undefined,
    });
    this.#state.beginAnew();
    return this.#state.observation({ exists: false, ready: "creating" }, undefined);
  }

  /** Takes over what the broker reports; false when it does not know the instance. */
  async #fetch(options: CallOptions): Promise<boolean> {
    try {
      const fetched = await this.#options.broker.osb.fetchInstance(this.#state.instanceId, options);
      const {
        planId = this.#state.atProvider.planId,
        serviceId = this.#state.atProvider.serviceId,
        parameters,
      } = fetched;
      this.#state.learn({ planId, serviceId, ...(parameters === undefined ? {} : { parameters }) });
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }

  /** Of the instance that is there or was asked for; the spec may name another by now. */
  #plan(): { readonly serviceId?: string | undefined; readonly planId?: string | undefined } {
    const { serviceId, planId } = this.#state.atProvider;
    const { current } = this.#tracker;
    return current?.serviceId === undefined ? { serviceId, planId } : current;
  }

  async #planOrChoice(options: CallOptions): Promise<Partial<PlanIds>> {
    const { serviceId, planId } = this.#plan();
    if (serviceId === undefined) return idsOf(await this.#choice(options));
    return planId === undefined ? { serviceId } : { serviceId, planId };
  }

  async #choice(options: CallOptions): Promise<PlanChoice> {
    const { serviceName, planName } = this.#state.managed.spec.forProvider;
    return findPlan(await this.#options.broker.catalog(options), serviceName, planName);
  }

  /** Of the plan, when the catalog still has it. */
  async #maximumPollingSeconds(options: CallOptions): Promise<number | undefined> {
    const { services } = await this.#options.broker.catalog(options);
    const plans = services.flatMap((service) => service.plans);
    return plans.find((plan) => plan.id === this.#state.atProvider.planId)?.maximumPollingDuration;
  }

  #call(options: CallOptions): CallOptions & { readonly identity: OriginatingIdentity | undefined } {
    return { ...options, identity: identityOf(this.#state.managed) };
  }
}
