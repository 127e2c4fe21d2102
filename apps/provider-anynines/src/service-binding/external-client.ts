/** The external client of ServiceBinding: one binding at a service broker. */
import {
  claimNamespaceLabel,
  instanceTypeLabel,
  type ManagedServiceBinding,
  type ServiceBindingObservation,
  type ServiceInstance,
} from "@klutch/api";
import {
  type CallOptions,
  type ConnectionDetails,
  type CriticalAnnotationUpdate,
  type ExternalClient,
  NotYetError,
  type Observation,
} from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { isGone, mayHaveLeftOrphan } from "@klutch/osb";
import { serviceOfType } from "@klutch/services";
import type { Broker } from "../broker/brokers.ts";
import { inProgress, OperationTracker, toExternalError } from "../broker/operation-tracker.ts";
import { CriticalAnnotations, missingChange, missingOf } from "../critical-annotations.ts";
import { stepLoss } from "../loss.ts";
import { flattenCredentials } from "./connection.ts";

/** What the client of one binding needs. */
export interface BindingClientOptions {
  readonly managed: ManagedServiceBinding;
  readonly broker: Broker;
  readonly updateCriticalAnnotations: CriticalAnnotationUpdate;
  readonly clock: Clock;
  /** The instance that the binding names, in the same claim namespace. */
  readonly instance: () => ServiceInstance | undefined;
  /** Whether the Secret that should hold the credentials is missing. */
  readonly secretIsMissing: (options: CallOptions) => Promise<boolean>;
  /** Time between two observations of which both must say that the broker does not know the binding. */
  readonly confirmLossMs: number;
}

/**
 * Lives for one reconcile. The binding's id is the managed resource's UID, and each call is recorded before it is made, so every call can
 * be repeated after a crash. A binding cannot be changed at a broker.
 */
export class ServiceBindingClient implements ExternalClient {
  readonly #options: BindingClientOptions;
  readonly #managed: ManagedServiceBinding;
  readonly #bindingId: string;
  readonly #annotations: CriticalAnnotations;
  readonly #tracker: OperationTracker;
  #atProvider: ServiceBindingObservation;
  /** Fresh from the broker, if this reconcile fetched them. */
  #connection: ConnectionDetails | undefined;

  constructor(options: BindingClientOptions) {
    const { managed, updateCriticalAnnotations, clock, broker } = options;
    this.#options = options;
    this.#managed = managed;
    this.#bindingId = managed.metadata.uid ?? "";
    this.#atProvider = managed.status?.atProvider ?? { state: "Pending" };
    const poll = (operation: string | undefined): ReturnType<typeof broker.osb.lastOperation> => {
      const { instanceId = "", serviceID: serviceId, planID: planId } = this.#atProvider;
      return broker.osb.lastOperation({
        instanceId,
        bindingId: this.#bindingId,
        operation,
        serviceId,
        planId,
      });
    };
    this.#annotations = new CriticalAnnotations(managed, updateCriticalAnnotations);
    this.#tracker = new OperationTracker({ managed, annotations: this.#annotations, clock, poll });
  }

  async observe(options: CallOptions): Promise<Observation> {
    try {
      const operation = this.#tracker.current;
      if (operation?.phase === "polling") return await this.#observeOperation(options);
      if (operation?.phase === "failed") return this.#observeFailure();
      if (operation?.phase === "calling") return this.#observeUnanswered();
      return await this.#observeAtRest(options);
    } catch (error) {
      throw toExternalError(error);
    }
  }

  async create(options: CallOptions): Promise<void> {
    const ids = this.#resolveInstance();
    this.#atProvider = { ...this.#atProvider, ...ids };
    const { parameters, context, acceptsIncomplete } = this.#managed.spec.forProvider;
    try {
      const outcome = await this.#tracker.perform(
        "create",
        () =>
          this.#options.broker.osb.bind({ ...this.#ref(), parameters, context, acceptsIncomplete }, options),
        { done: missingChange(undefined) },
      );
      if (outcome.kind === "done") this.#adopt(outcome.credentials);
    } catch (error) {
      if (!mayHaveLeftOrphan(error)) await this.#tracker.clear();
      throw toExternalError(error);
    }
  }

  async update(): Promise<void> {}

  async delete(options: CallOptions): Promise<void> {
    try {
      await this.#tracker.perform("delete", () => this.#options.broker.osb.unbind(this.#ref(), options));
    } catch (error) {
      // Only 404 and 410 mean gone: a broker that is down must not make us forget valid credentials.
      if (isGone(error)) await this.#tracker.clear();
      else throw toExternalError(error);
    }
    if (this.#tracker.current === undefined) this.#atProvider = { ...this.#atProvider, state: "Deleted" };
  }

  async #observeOperation(options: CallOptions): Promise<Observation> {
    const operation = this.#tracker.current;
    const last = await this.#tracker.poll();
    const deleting = operation?.type === "delete";
    if (last === "gone") {
      await this.#tracker.clear();
      return this.#observation({ exists: false, ready: deleting ? "deleting" : "unavailable" }, "Deleted");
    }
    if (last.state === "in progress") {
      return this.#observation(
        { exists: true, upToDate: true, ...inProgress(deleting ? "deleting" : "creating", last) },
        deleting ? "Deleting" : "Pending",
      );
    }
    if (last.state === "failed") {
      await this.#tracker.fail(last.description);
      return this.#observeFailure();
    }
    await this.#tracker.clear();
    if (deleting) return this.#observation({ exists: false, ready: "deleting" }, "Deleted");
    this.#atProvider = { ...this.#atProvider, state: "Created" };
    await this.#fetch(options);
    return this.#observeAtRest(options);
  }

  #observeFailure(): Observation {
    const operation = this.#tracker.current;
    const message = `${operation?.type ?? "operation"} failed: ${operation?.description ?? "the broker gave no reason"}`;
    const changed = operation?.generation !== this.#managed.metadata.generation;
    const again =
      operation?.type === "create" && changed && this.#managed.metadata.deletionTimestamp === undefined;
    return this.#observation({ exists: !again, upToDate: true, ready: "unavailable", message }, "Pending");
  }

  #observeUnanswered(): Observation {
    const deleting = this.#managed.metadata.deletionTimestamp !== undefined;
    return this.#observation(
      { exists: deleting, ready: deleting ? "unavailable" : "creating" },
      this.#atProvider.state,
    );
  }

  async #observeAtRest(options: CallOptions): Promise<Observation> {
    const deleting = this.#managed.metadata.deletionTimestamp !== undefined;
    if (this.#atProvider.state !== "Created") {
      return this.#observation(
        { exists: false, ready: deleting ? "deleting" : "creating" },
        this.#atProvider.state,
      );
    }
    if (deleting) return this.#observation({ exists: true, ready: "unavailable" }, "Created");
    const retrievable = await this.#isRetrievable(options);
    const isMissing = this.#connection === undefined && (await this.#options.secretIsMissing(options));
    const found = retrievable || isMissing ? await this.#fetch(options) : "fetched";
    if (found === "unknown" && retrievable) return this.#observeMissing(options);
    if (found !== "fetched" && isMissing) {
      // The broker does not tell the credentials: binding again does.
      return this.#observation({ exists: false, ready: "unavailable" }, "Pending");
    }
    await this.#annotations.write(missingChange(undefined));
    return this.#observation({ exists: true, upToDate: true, ready: "available" }, "Created");
  }

  /**
   * The broker does not know the binding: its credentials are dead, so they are taken away and new ones are made; nothing is lost
   * with them. Not while the instance is missing too: then the broker may look at other data, and the credentials still work.
   */
  async #observeMissing(options: CallOptions): Promise<Observation> {
    const held = { exists: true, upToDate: true, ready: "unavailable" } as const;
    if (await this.#instanceIsMissing(options)) {
      const { instanceName } = this.#managed.spec.forProvider;
      const message = `the instance ${instanceName} is lost at its broker, and this binding with it; see the instance`;
      return this.#observation({ ...held, message }, "Created");
    }
    const step = stepLoss(this.#annotations.missing, this.#options.clock.now(), this.#options.confirmLossMs);
    await this.#annotations.write(missingChange(step.missing));
    if (!step.missing.confirmed) {
      const message = "the broker does not know the binding any more; it is asked once more";
      return this.#observation({ ...held, message, pollAfterMs: step.observeAgainMs }, "Created");
    }
    return this.#observation({ exists: false, ready: "creating", revoked: true }, "Created");
  }

  async #instanceIsMissing(options: CallOptions): Promise<boolean> {
    const instance = this.#options.instance();
    const { instanceId, serviceId } = instance?.status?.atProvider ?? {};
    if (instance === undefined || instanceId === undefined) return true;
    if (missingOf(instance.metadata.annotations) !== undefined) return true;
    const { services } = await this.#options.broker.catalog(options);
    if (services.find(({ id }) => id === serviceId)?.instancesRetrievable !== true) return false;
    try {
      await this.#options.broker.osb.fetchInstance(instanceId, options);
      return false;
    } catch (error) {
      if (isGone(error)) return true;
      throw error;
    }
  }

  async #isRetrievable(options: CallOptions): Promise<boolean> {
    const { services } = await this.#options.broker.catalog(options);
    return services.find(({ id }) => id === this.#atProvider.serviceID)?.bindingsRetrievable === true;
  }

  /** Fetches the credentials from the broker; `withheld` when it knows the binding but has none for us. */
  async #fetch(options: CallOptions): Promise<"fetched" | "withheld" | "unknown"> {
    const { instanceId = "" } = this.#atProvider;
    try {
      const { credentials } = await this.#options.broker.osb.fetchBinding(
        instanceId,
        this.#bindingId,
        options,
      );
      if (credentials === undefined) return "withheld";
      this.#adopt(credentials);
      return "fetched";
    } catch (error) {
      if (isGone(error)) return "unknown";
      throw error;
    }
  }

  #adopt(credentials: Readonly<Record<string, unknown>>): void {
    this.#connection = flattenCredentials(credentials);
    const service = serviceOfType(this.#managed.metadata.labels?.[instanceTypeLabel] ?? "");
    this.#atProvider = {
      ...this.#atProvider,
      state: "Created",
      connectionDetails: service?.connectionDetails(this.#connection) ?? [],
    };
  }

  #resolveInstance(): Pick<ServiceBindingObservation, "instanceId" | "serviceID" | "planID"> {
    const { instanceName } = this.#managed.spec.forProvider;
    const instance = this.#options.instance();
    if (instance === undefined) {
      const namespace = this.#managed.metadata.labels?.[claimNamespaceLabel] ?? "";
      throw new NotYetError(
        `data service instance was not found: no instance ${instanceName} in namespace ${namespace}`,
        { requeueAfterMs: 60_000 },
      );
    }
    if (instance.metadata.deletionTimestamp !== undefined) {
      throw new NotYetError(`the instance ${instanceName} is being deleted`, { requeueAfterMs: 60_000 });
    }
    const { instanceId, serviceId, planId, state } = instance.status?.atProvider ?? {};
    if (
      instanceId === undefined ||
      serviceId === undefined ||
      planId === undefined ||
      state !== "provisioned"
    ) {
      throw new NotYetError(`service instance is not ready: ${instanceName}`, { requeueAfterMs: 60_000 });
    }
    return { instanceId, serviceID: serviceId, planID: planId };
  }

  #ref(): {
    readonly instanceId: string;
    readonly bindingId: string;
    readonly serviceId: string;
    readonly planId: string;
  } {
    const { instanceId = "", serviceID: serviceId = "", planID: planId = "" } = this.#atProvider;
    return { instanceId, bindingId: this.#bindingId, serviceId, planId };
  }

  #observation(
    found: Omit<Observation, "upToDate"> & { readonly upToDate?: boolean | undefined },
    state: string,
  ): Observation {
    this.#atProvider = { ...this.#atProvider, state };
    return {
      ...found,
      upToDate: found.upToDate ?? false,
      connection: this.#connection,
      status: { atProvider: this.#atProvider },
    };
  }
}
