/** The external client of ServiceInstance. The instance's id follows from the managed resource, so every call can be repeated. */
import { type ServiceInstance, type ServiceInstanceObservation, wholeSeconds } from "@klutch/api";
import {
  type CallOptions,
  type ExternalClient,
  ExternalError,
  type Observation,
  type Recorder,
} from "@klutch/crossplane";
import { type Clock, isRecord, jsonEqual } from "@klutch/kube";
import { isGone, mayHaveLeftOrphan, type OriginatingIdentity } from "@klutch/osb";
import { OperationTracker, toExternalError, waiting } from "./broker-resource.ts";
import type { Broker } from "./brokers.ts";
import { findPlan, type PlanChoice } from "./plan-lookup.ts";

/** What the client of one instance needs. */
export interface InstanceClientOptions {
  readonly managed: ServiceInstance;
  readonly broker: Broker;
  readonly record: Recorder;
  readonly clock: Clock;
  /** Names of managed bindings that still use the instance. */
  readonly bindings: () => readonly string[];
}

/** See the module comment. */
export class ServiceInstanceClient implements ExternalClient {
  readonly #options: InstanceClientOptions;
  readonly #managed: ServiceInstance;
  readonly #instanceId: string;
  readonly #tracker: OperationTracker;
  #atProvider: ServiceInstanceObservation;

  constructor(options: InstanceClientOptions) {
    const { managed, broker, record, clock } = options;
    this.#options = options;
    this.#managed = managed;
    this.#atProvider = managed.status?.atProvider ?? {};
    // An id that the existing provider chose stays; ours is the object's own, so a crash cannot lose or double it.
    const instanceId = this.#atProvider.instanceId ?? managed.metadata.uid ?? "";
    this.#instanceId = instanceId;
    const { serviceId, planId } = this.#atProvider;
    const poll = (operation: string | undefined): ReturnType<typeof broker.osb.lastOperation> =>
      broker.osb.lastOperation({ instanceId, operation, serviceId, planId });
    this.#tracker = new OperationTracker({ managed, record, clock, poll });
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
    const { forProvider } = this.#managed.spec;
    const choice = await this.#choice(options);
    const { serviceId, planId } = idsOf(choice);
    this.#atProvider = {
      ...this.#atProvider,
      instanceId: this.#instanceId,
      serviceId,
      planId,
      state: "deploying",
    };
    const { organizationGuid, spaceGuid, parameters, context, acceptsIncomplete } = forProvider;
    const request = {
      instanceId: this.#instanceId,
      serviceId,
      planId,
      organizationGuid,
      spaceGuid,
      parameters,
      acceptsIncomplete,
      context: {
        ...context,
        platform: "kubernetes",
        organization_guid: organizationGuid,
        space_guid: spaceGuid,
      },
    };
    try {
      const outcome = await this.#tracker.perform("create", () =>
        this.#options.broker.osb.provision(request, { ...options, identity: this.#identity() }),
      );
      if (outcome.kind === "done") this.#atProvider = { ...this.#atProvider, state: "provisioned" };
    } catch (error) {
      // Unclear whether there is something: the record stays, and the same call with the same id is made again.
      if (!mayHaveLeftOrphan(error)) await this.#tracker.clear();
      throw toExternalError(error);
    }
  }

  async update(options: CallOptions): Promise<void> {
    const { forProvider } = this.#managed.spec;
    const choice = await this.#choice(options);
    const { serviceId, planId } = idsOf(choice);
    if (this.#atProvider.serviceId !== undefined && this.#atProvider.serviceId !== serviceId) {
      throw new ExternalError(
        "the service of an instance cannot be changed; create a new instance and move the data",
      );
    }
    const { parameters, context, organizationGuid, spaceGuid, acceptsIncomplete } = forProvider;
    const request = {
      instanceId: this.#instanceId,
      serviceId,
      planId,
      parameters: parameterChanges(this.#atProvider.parameters, parameters),
      acceptsIncomplete,
      context: {
        ...context,
        platform: "kubernetes",
        organization_guid: organizationGuid,
        space_guid: spaceGuid,
      },
    };
    try {
      await this.#tracker.perform("update", () =>
        this.#options.broker.osb.update(request, { ...options, identity: this.#identity() }),
      );
      this.#atProvider = { ...this.#atProvider, planId, parameters };
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
    // Not from the catalog: a plan that is not offered any more must not block the deletion (provider defect 6).
    const { serviceId, planId } =
      this.#atProvider.serviceId === undefined ? await this.#ids(options) : this.#atProvider;
    const request = { instanceId: this.#instanceId, serviceId: serviceId ?? "", planId: planId ?? "" };
    try {
      await this.#tracker.perform("delete", () =>
        this.#options.broker.osb.deprovision(request, { ...options, identity: this.#identity() }),
      );
    } catch (error) {
      if (isGone(error)) await this.#tracker.clear();
      else throw toExternalError(error);
    }
    if (this.#tracker.current === undefined) this.#atProvider = { ...this.#atProvider, state: "deleted" };
  }

  /** The broker accepted and works. */
  async #observeOperation(options: CallOptions): Promise<Observation> {
    const operation = this.#tracker.current;
    const last = await this.#tracker.poll(await this.#maximumPollingSeconds(options));
    const deleting = operation?.type === "delete";
    if (last === "gone") {
      await this.#tracker.clear();
      if (deleting) return this.#observation({ exists: false, ready: "deleting" }, "deleted");
      return this.#observation({ exists: false, ready: "unavailable" }, "unknown");
    }
    if (last.state === "in progress") {
      const ready = deleting ? "deleting" : operation?.type === "create" ? "creating" : "unavailable";
      const state = deleting ? "deleting" : "deploying";
      return this.#observation(
        { exists: true, upToDate: true, ...waiting(ready, last) },
        state,
        operation?.key,
      );
    }
    if (last.state === "succeeded") {
      await this.#tracker.clear();
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
    if (this.#managed.metadata.deletionTimestamp !== undefined) {
      return this.#observation({ exists: true, upToDate: true, ready: "unavailable", message }, "failed");
    }
    if (operation?.type === "update" && operation.generation === this.#managed.metadata.generation) {
      // The instance is as before; what the broker cannot do is not asked again until the spec changes.
      const observed = await this.#observeAtRest(options);
      return { ...observed, upToDate: true, message };
    }
    if (operation?.type === "update") {
      await this.#tracker.clear();
      return this.#observeAtRest(options);
    }
    if (operation?.generation !== this.#managed.metadata.generation) {
      return this.#observation({ exists: false, ready: "creating", message }, "failed");
    }
    return this.#observation({ exists: true, upToDate: true, ready: "unavailable", message }, "failed");
  }

  /** A call was on its way when the process ended or the connection broke: the same call again tells. */
  #observeUnanswered(type: "create" | "update" | "delete"): Observation {
    const deleting = this.#managed.metadata.deletionTimestamp !== undefined;
    if (deleting)
      return this.#observation({ exists: true, ready: "unavailable" }, this.#atProvider.state ?? "unknown");
    if (type === "create") return this.#observation({ exists: false, ready: "creating" }, "deploying");
    return this.#observation(
      { exists: true, upToDate: false, ready: "unavailable" },
      this.#atProvider.state ?? "unknown",
    );
  }

  async #observeAtRest(options: CallOptions): Promise<Observation> {
    const { state } = this.#atProvider;
    const deleting = this.#managed.metadata.deletionTimestamp !== undefined;
    if (state === undefined || state === "deleted") {
      return this.#observation({ exists: false, ready: deleting ? "deleting" : "creating" }, state);
    }
    if (deleting) return this.#observation({ exists: true, upToDate: true, ready: "unavailable" }, state);
    const choice = await this.#choice(options);
    if (choice.service.instancesRetrievable && !(await this.#fetch(options))) {
      return this.#observation(
        {
          exists: false,
          ready: "unavailable",
          message: "the instance is gone at the broker; it is made anew, without its data",
        },
        "unknown",
      );
    }
    const samePlan = this.#atProvider.planId === choice.plan.id;
    const upToDate = samePlan && this.#parametersMatch();
    return this.#observation({ exists: true, upToDate, ready: "available" }, "provisioned");
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

  /** What was asked for is there; more that the broker reports is its default (provider defect 5). */
  #parametersMatch(): boolean {
    const wanted = this.#managed.spec.forProvider.parameters ?? {};
    const present = this.#atProvider.parameters ?? {};
    return Object.entries(wanted).every(([name, value]) => jsonEqual(value, present[name]));
  }

  #observation(
    found: Omit<Observation, "upToDate"> & { readonly upToDate?: boolean | undefined },
    state: string | undefined,
    pendingOperation?: string,
  ): Observation {
    const instanceId = this.#instanceId;
    const now = wholeSeconds(this.#options.clock.now());
    const before = this.#managed.status?.atProvider?.state;
    const provisionedAt =
      state === "provisioned" ? (this.#atProvider.provisionedAt ?? now) : this.#atProvider.provisionedAt;
    const createdAt = this.#atProvider.createdAt ?? (state === undefined ? undefined : now);
    const updatedAt = state === before ? this.#atProvider.updatedAt : now;
    this.#atProvider = { ...this.#atProvider, state, instanceId, provisionedAt, createdAt, updatedAt };
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

  async #ids(options: CallOptions): Promise<{ readonly serviceId: string; readonly planId: string }> {
    return idsOf(await this.#choice(options));
  }

  /** Of the plan, when the catalog still has it. */
  async #maximumPollingSeconds(options: CallOptions): Promise<number | undefined> {
    const { services } = await this.#options.broker.catalog(options);
    const plans = services.flatMap((service) => service.plans);
    return plans.find((plan) => plan.id === this.#atProvider.planId)?.maximumPollingDuration;
  }

  #identity(): OriginatingIdentity | undefined {
    const { platform, value } = this.#managed.spec.forProvider.originatingIdentity ?? {};
    return platform === undefined || value === undefined ? undefined : { platform, value: parsed(value) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function idsOf(choice: PlanChoice): { readonly serviceId: string; readonly planId: string } {
  return { serviceId: choice.service.id, planId: choice.plan.id };
}

/** Changed and new parameters with their values; nothing that was not asked for is taken back. */
function parameterChanges(
  present: unknown,
  wanted: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (wanted === undefined) return undefined;
  const before = isRecord(present) ? present : {};
  const changed = Object.entries(wanted).filter(([name, value]) => !jsonEqual(value, before[name]));
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
