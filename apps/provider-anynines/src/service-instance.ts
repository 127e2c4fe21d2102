/** The external client of ServiceInstance. The instance's id follows from the managed resource, so every call can be repeated. */
import type { ServiceInstance, ServiceInstanceObservation } from "@klutch/api";
import {
  type CallOptions,
  type ExternalClient,
  ExternalError,
  type Observation,
  type Recorder,
} from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { isGone, mayHaveLeftOrphan, type OriginatingIdentity } from "@klutch/osb";
import { OperationTracker, toExternalError, waiting } from "./broker-resource.ts";
import type { Broker } from "./brokers.ts";
import {
  deprovisionRequest,
  identityOf,
  idsOf,
  type PlanIds,
  provisionRequest,
  updateRequest,
} from "./instance-requests.ts";
import { withState } from "./instance-status.ts";
import { decideLoss, type Losses, provisionAnewAnnotation, stepLoss } from "./loss.ts";
import { type NoteChanges, noteMissing, noteNextInstance, noteParameters, Notes } from "./notes.ts";
import type { BrokerOperation } from "./operation.ts";
import { parameterChanges } from "./parameters.ts";
import { findPlan, type PlanChoice } from "./plan-lookup.ts";

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

/** See the module comment. */
export class ServiceInstanceClient implements ExternalClient {
  readonly #options: InstanceClientOptions;
  readonly #managed: ServiceInstance;
  readonly #notes: Notes;
  readonly #tracker: OperationTracker;
  #instanceId: string;
  #atProvider: ServiceInstanceObservation;

  constructor(options: InstanceClientOptions) {
    const { managed, broker, record, clock } = options;
    this.#options = options;
    this.#managed = managed;
    this.#notes = new Notes(managed, record);
    const present = managed.status?.atProvider ?? {};
    // An id that the existing provider chose stays; ours is the object's own or follows from it, so a crash cannot lose or double it.
    this.#instanceId = this.#notes.instanceId ?? present.instanceId ?? managed.metadata.uid ?? "";
    // A status that speaks of the instance before this one says nothing about it.
    this.#atProvider = (present.instanceId ?? this.#instanceId) === this.#instanceId ? present : {};
    const poll = (operation: string | undefined): ReturnType<typeof broker.osb.lastOperation> =>
      broker.osb.lastOperation({ instanceId: this.#instanceId, operation, ...this.#plan() });
    this.#tracker = new OperationTracker({ managed, notes: this.#notes, clock, poll });
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
    const request = provisionRequest(this.#managed, this.#instanceId, plan);
    const { parameters } = request;
    this.#atProvider = {
      ...this.#atProvider,
      instanceId: this.#instanceId,
      ...plan,
      parameters,
      state: "deploying",
    };
    try {
      const outcome = await this.#tracker.perform(
        "create",
        () => this.#options.broker.osb.provision(request, this.#call(options)),
        { ...this.#parameterNotes(), plan },
      );
      if (outcome.kind === "done") this.#atProvider = { ...this.#atProvider, state: "provisioned" };
    } catch (error) {
      // Unclear whether there is something: the record stays, and the same call with the same id is made again.
      if (!mayHaveLeftOrphan(error)) await this.#tracker.clear();
      throw toExternalError(error);
    }
  }

  async update(options: CallOptions): Promise<void> {
    const plan = idsOf(await this.#choice(options));
    if (this.#atProvider.serviceId !== undefined && this.#atProvider.serviceId !== plan.serviceId) {
      throw new ExternalError(
        "the service of an instance cannot be changed; create a new instance and move the data",
      );
    }
    const request = updateRequest(this.#managed, this.#instanceId, plan, this.#parameterChanges());
    try {
      await this.#tracker.perform(
        "update",
        () => this.#options.broker.osb.update(request, this.#call(options)),
        this.#parameterNotes(),
      );
      const { parameters } = this.#managed.spec.forProvider;
      this.#atProvider = { ...this.#atProvider, planId: plan.planId, parameters };
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
    const request = deprovisionRequest(this.#instanceId, await this.#planOrChoice(options));
    try {
      await this.#tracker.perform("delete", () =>
        this.#options.broker.osb.deprovision(request, this.#call(options)),
      );
    } catch (error) {
      if (isGone(error)) await this.#tracker.clear();
      else throw toExternalError(error);
    }
    if (this.#tracker.current === undefined) this.#atProvider = { ...this.#atProvider, state: "deleted" };
  }

  /**
   * Whether a create that failed, or whose answer was lost before the spec changed, may have left something: the broker refuses to
   * make another thing of it. Never what was once in use.
   */
  #hasLeftovers(): boolean {
    const operation = this.#tracker.current;
    if (operation === undefined || this.#atProvider.provisionedAt !== undefined) return false;
    const { generation } = this.#managed.metadata;
    return (
      operation.type === "discard" || (operation.type === "create" && operation.generation !== generation)
    );
  }

  /** Deletes what a failed create left (OSB "Orphan Mitigation"). When that is done, the instance goes on under its next id. */
  async #discard(options: CallOptions): Promise<void> {
    const plan = await this.#planOrChoice(options);
    const request = deprovisionRequest(this.#instanceId, plan);
    const done = noteNextInstance(this.#instanceId);
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
    if (this.#tracker.current === undefined) this.#beginAnew();
  }

  /** The notes name another instance now; nothing is known of it. */
  #beginAnew(): void {
    this.#instanceId = this.#notes.instanceId ?? this.#instanceId;
    this.#atProvider = {};
  }

  /** The broker accepted and works. */
  async #observeOperation(options: CallOptions): Promise<Observation> {
    const operation = this.#tracker.current;
    const last = await this.#tracker.poll(await this.#maximumPollingSeconds(options));
    const deleting = operation?.type === "delete";
    const discarding = operation?.type === "discard";
    if (discarding && (last === "gone" || last.state === "succeeded")) {
      await this.#tracker.clear(noteNextInstance(this.#instanceId));
      this.#beginAnew();
      return this.#observeAtRest(options);
    }
    if (last === "gone" && operation?.type === "create") {
      // Nothing was there yet that could be lost: the same call once more.
      return this.#observation({ exists: false, ready: "creating" }, "deploying");
    }
    if (last === "gone") {
      await this.#tracker.clear();
      if (deleting) return this.#observation({ exists: false, ready: "deleting" }, "deleted");
      return this.#observeMissing();
    }
    if (last.state === "in progress") {
      const ready =
        deleting || (discarding && this.#isDeleting)
          ? "deleting"
          : operation?.type === "update"
            ? "unavailable"
            : "creating";
      const state = deleting ? "deleting" : "deploying";
      return this.#observation(
        { exists: true, upToDate: true, ...waiting(ready, last) },
        state,
        operation?.key,
      );
    }
    if (last.state === "succeeded") {
      await this.#tracker.clear(this.#isOfNow(operation) && !deleting ? this.#parameterNotes().done : {});
      if (deleting) return this.#observation({ exists: false, ready: "deleting" }, "deleted");
      this.#atProvider = { ...this.#atProvider, state: "provisioned" };
      return this.#observeAtRest(options);
    }
    await this.#tracker.fail(last.description);
    return this.#observeFailure(options);
  }

  /** The broker said that it failed. */
  async #observeFailure(options: CallOptions): Promise<Observation> {
    const operation = this.#tracker.current;
    const message = `${operation?.type ?? "operation"} failed: ${operation?.description ?? "the broker gave no reason"}`;
    if (this.#isDeleting) {
      return this.#observation({ exists: true, upToDate: true, ready: "unavailable", message }, "failed");
    }
    if (operation?.type === "discard") {
      return this.#observation({ exists: false, ready: "creating", message }, "failed");
    }
    if (operation?.type === "update" && this.#isOfNow(operation)) {
      // The instance is as before; what the broker cannot do is not asked again until the spec changes.
      const observed = await this.#observeAtRest(options);
      return { ...observed, upToDate: true, message };
    }
    if (operation?.type === "update") {
      await this.#tracker.clear();
      return this.#observeAtRest(options);
    }
    if (!this.#isOfNow(operation)) {
      return this.#observation({ exists: false, ready: "creating", message }, "failed");
    }
    return this.#observation({ exists: true, upToDate: true, ready: "unavailable", message }, "failed");
  }

  /** A call was on its way when the process ended or the connection broke: the same call again tells. */
  #observeUnanswered(type: BrokerOperation["type"]): Observation {
    if (this.#isDeleting)
      return this.#observation({ exists: true, ready: "unavailable" }, this.#atProvider.state ?? "unknown");
    if (type === "create" || type === "discard")
      return this.#observation({ exists: false, ready: "creating" }, "deploying");
    return this.#observation(
      { exists: true, upToDate: false, ready: "unavailable" },
      this.#atProvider.state ?? "unknown",
    );
  }

  async #observeAtRest(options: CallOptions): Promise<Observation> {
    const { state } = this.#atProvider;
    const deleting = this.#isDeleting;
    if (state === undefined || (deleting && state === "deleted")) {
      return this.#observation({ exists: false, ready: deleting ? "deleting" : "creating" }, state);
    }
    if (deleting) return this.#observation({ exists: true, upToDate: true, ready: "unavailable" }, state);
    const choice = await this.#choice(options);
    const known = choice.service.instancesRetrievable
      ? await this.#fetch(options)
      : state !== "deleted" && this.#notes.missing === undefined;
    if (!known) return this.#observeMissing();
    const samePlan = this.#atProvider.planId === choice.plan.id;
    const upToDate = samePlan && this.#parameterChanges() === undefined;
    await this.#notes.write({ ...noteMissing(undefined), ...this.#parameterNotes().before });
    return this.#observation({ exists: true, upToDate, ready: "available" }, "provisioned");
  }

  /** The broker does not know the instance: a person decides, because a new one would be empty. */
  async #observeMissing(): Promise<Observation> {
    const { clock, confirmLossMs, losses } = this.#options;
    const step = stepLoss(this.#notes.missing, clock.now(), confirmLossMs);
    await this.#notes.write(noteMissing(step.missing));
    const held = { exists: true, upToDate: true, ready: "unavailable" } as const;
    if (!step.missing.confirmed) {
      const message = `the broker does not know the instance ${this.#instanceId} any more; it is asked once more`;
      return this.#observation({ ...held, message, pollAfterMs: step.lookAgainMs }, "unknown");
    }
    const { name = "" } = this.#managed.metadata;
    const permission = this.#notes.get(provisionAnewAnnotation);
    const decision = decideLoss({ name, instanceId: this.#instanceId, permission, losses: losses() });
    if (decision.do === "hold") return this.#observation({ ...held, message: decision.message }, "lost");
    await this.#notes.write({
      ...noteNextInstance(this.#instanceId),
      [provisionAnewAnnotation]: undefined,
    });
    this.#beginAnew();
    return this.#observation({ exists: false, ready: "creating" }, undefined);
  }

  /** Takes over what the broker reports; false when it does not know the instance. */
  async #fetch(options: CallOptions): Promise<boolean> {
    try {
      const fetched = await this.#options.broker.osb.fetchInstance(this.#instanceId, options);
      const {
        planId = this.#atProvider.planId,
        serviceId = this.#atProvider.serviceId,
        parameters,
      } = fetched;
      this.#atProvider = {
        ...this.#atProvider,
        planId,
        serviceId,
        ...(parameters === undefined ? {} : { parameters }),
      };
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }

  /** Undefined when what was asked for is there, and what was taken back is not (provider defect 5). */
  #parameterChanges(): Readonly<Record<string, unknown>> | undefined {
    const { parameters: wanted } = this.#managed.spec.forProvider;
    return parameterChanges({
      wanted,
      present: this.#atProvider.parameters,
      sent: this.#notes.sentParameters,
    });
  }

  /** Before a call the broker may get the new names and hold the old ones; when it is done, it has the new ones only. */
  #parameterNotes(): { readonly before: NoteChanges; readonly done: NoteChanges } {
    const wanted = Object.keys(this.#managed.spec.forProvider.parameters ?? {});
    return {
      before: noteParameters([...this.#notes.sentParameters, ...wanted]),
      done: noteParameters(wanted),
    };
  }

  /** Of the instance that is there or was asked for; the spec may name another by now. */
  #plan(): { readonly serviceId?: string | undefined; readonly planId?: string | undefined } {
    const { serviceId, planId } = this.#atProvider;
    const { current } = this.#tracker;
    return current?.serviceId === undefined ? { serviceId, planId } : current;
  }

  async #planOrChoice(options: CallOptions): Promise<Partial<PlanIds>> {
    const { serviceId, planId } = this.#plan();
    if (serviceId === undefined) return idsOf(await this.#choice(options));
    return planId === undefined ? { serviceId } : { serviceId, planId };
  }

  get #isDeleting(): boolean {
    return this.#managed.metadata.deletionTimestamp !== undefined;
  }

  #isOfNow(operation: BrokerOperation | undefined): boolean {
    return operation?.generation === this.#managed.metadata.generation;
  }

  #observation(
    found: Omit<Observation, "upToDate"> & { readonly upToDate?: boolean | undefined },
    state: string | undefined,
    pendingOperation?: string,
  ): Observation {
    const from = this.#managed.status?.atProvider?.state;
    const change = { from, to: state, now: this.#options.clock.now() };
    this.#atProvider = withState(this.#atProvider, this.#instanceId, change);
    return {
      ...found,
      upToDate: found.upToDate ?? false,
      status: { atProvider: this.#atProvider, pendingOperation },
    };
  }

  async #choice(options: CallOptions): Promise<PlanChoice> {
    const { serviceName, planName } = this.#managed.spec.forProvider;
    return findPlan(await this.#options.broker.catalog(options), serviceName, planName);
  }

  /** Of the plan, when the catalog still has it. */
  async #maximumPollingSeconds(options: CallOptions): Promise<number | undefined> {
    const { services } = await this.#options.broker.catalog(options);
    const plans = services.flatMap((service) => service.plans);
    return plans.find((plan) => plan.id === this.#atProvider.planId)?.maximumPollingDuration;
  }

  #call(options: CallOptions): CallOptions & { readonly identity: OriginatingIdentity | undefined } {
    return { ...options, identity: identityOf(this.#managed) };
  }
}
