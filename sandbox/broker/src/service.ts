/** The broker's rules: which request is possible when (OSB 2.17). Operations on instances run after the answer. */
import { randomBytes } from "node:crypto";
import type { Logger } from "@klutch/telemetry";
import type { Backend } from "./backend.ts";
import { catalogOf, findPlan, type Plan, type ServiceType, typeOfService } from "./catalog.ts";
import { BrokerError } from "./errors.ts";
import { checkParameters, mergeParameters, type ParameterChecks } from "./parameter-checks.ts";
import type { Binding, Instance, Operation, Store } from "./store.ts";

/** A request body or query. */
export type Input = Readonly<Record<string, unknown>>;

/** Whether something was made or was already there. */
export type Made = "created" | "present" | "accepted";

/** What the broker knows of one kind of service. */
export interface ServiceDefinition {
  readonly backend: Backend;
  readonly parameters: ParameterChecks;
}

/** Those that are offered. */
export type Services = ReadonlyMap<ServiceType, ServiceDefinition>;

/** What an application reads. */
export type Credentials = Readonly<Record<string, unknown>>;

/** What keeps backups of instances. */
export interface Backups {
  /** Ends what is done with an instance that goes. */
  stop(instanceId: string): Promise<void>;
  /** Removes the backups of an instance that is gone. */
  forget(instanceId: string): Promise<void>;
}

/** Throws `BrokerError` for what may not be done now. What runs is written down in the store, and `resume` takes it up after a crash. */
export class BrokerService {
  readonly #store: Store;
  readonly #services: Services;
  readonly #logger: Logger;
  readonly #backups: Backups | undefined;
  readonly #running = new Map<string, Promise<void>>();

  constructor(parts: {
    readonly store: Store;
    readonly services: Services;
    readonly logger: Logger;
    readonly backups?: Backups | undefined;
  }) {
    this.#backups = parts.backups;
    this.#store = parts.store;
    this.#services = parts.services;
    this.#logger = parts.logger;
  }

  /** Body of `GET /v2/catalog`. */
  get catalog(): object {
    return catalogOf([...this.#services.keys()]);
  }

  /** Takes up the operations that a crash interrupted, and gives databases of an older broker today's rights. */
  async resume(): Promise<void> {
    for (const instance of await this.#store.provisioned()) {
      try {
        await this.#serviceOf(instance).backend.refresh(instance, await this.#store.bindingsOf(instance.id));
      } catch (error) {
        this.#logger.error("instance was not taken up again", { instance: instance.id, error });
      }
    }
    for (const instance of await this.#store.unfinished()) this.#start(instance.id, instance.operation);
  }

  /** Waits for running operations. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  async provision(id: string, body: Input): Promise<Made> {
    const plan = this.#checkPlan(body);
    const planId = plan.id;
    for (const field of ["organization_guid", "space_guid"]) requireText(body, field);
    const { parameters: checks } = this.#checkService(body);
    const parameters = mergeParameters({}, checkParameters(body["parameters"], checks));
    if (await this.#store.insert(id, planId, parameters)) {
      this.#start(id, "provision");
      return "accepted";
    }
    const present = await this.#store.instance(id);
    const same =
      present?.planId === planId &&
      JSON.stringify(sorted(present.parameters)) === JSON.stringify(sorted(parameters));
    if (!same)
      throw new BrokerError(
        409,
        "InstanceAlreadyExistsError",
        `instance ${id} exists with another plan or other parameters`,
      );
    if (
      present.operation === "provision" &&
      present.state === "failed" &&
      (await this.#store.begin(id, "provision"))
    ) {
      this.#start(id, "provision");
      return "accepted";
    }
    return present.state === "in progress" ? "accepted" : "present";
  }

  async update(id: string, body: Input): Promise<Made> {
    const instance = await this.instance(id);
    const { parameters: checks } = this.#checkService(body);
    if (body["service_id"] !== findPlan(instance.planId)?.serviceId)
      throw new BrokerError(400, "BadRequest", `service_id is not the service of instance ${id}`);
    const planId = body["plan_id"] === undefined ? instance.planId : this.#checkPlan(body).id;
    const parameters = mergeParameters(instance.parameters, checkParameters(body["parameters"], checks));
    if (!(await this.#store.begin(id, "update", { planId, parameters }))) throw busy(id);
    this.#start(id, "update");
    return "accepted";
  }

  async deprovision(id: string, query: Input): Promise<void> {
    this.#checkService(query);
    requireText(query, "plan_id");
    if ((await this.#store.instance(id)) === undefined)
      throw new BrokerError(410, "InstanceNotFound", `instance ${id} does not exist`);
    if (!(await this.#store.begin(id, "deprovision"))) throw busy(id);
    this.#start(id, "deprovision");
  }

  /** The instance. Throws 404. */
  async instance(id: string): Promise<Instance> {
    const instance = await this.#store.instance(id);
    if (instance === undefined)
      throw new BrokerError(404, "InstanceNotFound", `instance ${id} does not exist`);
    return instance;
  }

  async bind(
    instanceId: string,
    id: string,
    body: Input,
  ): Promise<{ readonly made: Made; readonly credentials: Credentials }> {
    const instance = await this.#usable(instanceId);
    if (this.#checkPlan(body).id !== instance.planId) {
      throw new BrokerError(400, "BadRequest", `plan_id is not the plan of instance ${instanceId}`);
    }
    checkNoParameters(body);
    const present = await this.#store.binding(id);
    if (present !== undefined && present.instanceId !== instanceId) {
      throw new BrokerError(409, "BindingAlreadyExists", `binding ${id} belongs to another instance`);
    }
    const binding: Binding = present ?? { instanceId, id, salt: randomBytes(24).toString("base64url") };
    await this.#store.insertBinding(binding);
    // Two requests at once: both must hand out the password that was stored first.
    const stored = (await this.#store.binding(id)) ?? binding;
    return {
      made: present === undefined ? "created" : "present",
      credentials: await this.#serviceOf(instance).backend.bind(stored, instance),
    };
  }

  /** Credentials of a binding. Throws 404. */
  async credentials(instanceId: string, id: string): Promise<Credentials> {
    const binding = await this.#store.binding(id);
    if (binding?.instanceId !== instanceId)
      throw new BrokerError(404, "BindingNotFound", `binding ${id} does not exist`);
    return this.#serviceOf(await this.instance(instanceId)).backend.credentials(binding);
  }

  async unbind(instanceId: string, id: string, query: Input): Promise<void> {
    this.#checkService(query);
    requireText(query, "plan_id");
    const binding = await this.#store.binding(id);
    if (binding?.instanceId !== instanceId)
      throw new BrokerError(410, "BindingNotFound", `binding ${id} does not exist`);
    const instance = await this.instance(instanceId);
    if (instance.restoring) throw busy(instanceId);
    await this.#serviceOf(instance).backend.unbind(binding, instance);
    await this.#store.removeBinding(id);
  }

  async #usable(id: string): Promise<Instance> {
    const instance = await this.instance(id);
    if (instance.state === "in progress" || instance.restoring) throw busy(id);
    if (instance.operation === "provision" && instance.state === "failed") {
      throw new BrokerError(
        422,
        "InstanceNotProvisioned",
        `instance ${id} could not be provisioned: ${instance.description}`,
      );
    }
    return instance;
  }

  #checkPlan(body: Input): Plan {
    this.#checkService(body);
    const plan = findPlan(requireText(body, "plan_id"));
    if (plan === undefined)
      throw new BrokerError(
        400,
        "BadRequest",
        `plan_id ${JSON.stringify(body["plan_id"])} is not in the catalog`,
      );
    if (plan.serviceId !== body["service_id"])
      throw new BrokerError(
        400,
        "BadRequest",
        `plan_id ${JSON.stringify(plan.id)} is not a plan of service_id`,
      );
    return plan;
  }

  #checkService(input: Input): ServiceDefinition {
    const type = typeOfService(requireText(input, "service_id"));
    const found = type === undefined ? undefined : this.#services.get(type);
    if (found !== undefined) return found;
    throw new BrokerError(
      400,
      "BadRequest",
      `service_id ${JSON.stringify(input["service_id"])} is not in the catalog`,
    );
  }

  /** Throws for an instance whose programs this machine had before, and has no longer. */
  #serviceOf(instance: Instance): ServiceDefinition {
    const type = typeOfService(findPlan(instance.planId)?.serviceId);
    const found = type === undefined ? undefined : this.#services.get(type);
    if (found === undefined)
      throw new Error(`instance ${instance.id} is of a service that this broker cannot make now: ${type}`);
    return found;
  }

  /** Runs the operation unless it runs already. A deprovision waits for what runs before. */
  #start(id: string, operation: Operation): void {
    const before = this.#running.get(id) ?? Promise.resolve();
    const work = before.then(() => this.#work(id, operation));
    this.#running.set(id, work);
    void work.finally(() => {
      if (this.#running.get(id) === work) this.#running.delete(id);
    });
  }

  async #work(id: string, operation: Operation): Promise<void> {
    const instance = await this.#store.instance(id);
    if (instance === undefined || instance.operation !== operation || instance.state !== "in progress")
      return;
    try {
      if (operation === "deprovision") {
        await this.#backups?.stop(id);
        await this.#serviceOf(instance).backend.drop(instance, await this.#store.bindingsOf(id));
        await this.#backups?.forget(id);
        await this.#store.remove(id);
      } else {
        await this.#serviceOf(instance).backend.ensure(instance, await this.#store.bindingsOf(id));
        await this.#store.finish(id, operation, "succeeded", `${operation} succeeded`);
      }
      this.#logger.info("operation succeeded", { instance: id, operation });
    } catch (error) {
      this.#logger.error("operation failed", { instance: id, operation, error });
      const reason = error instanceof Error ? error.message : String(error);
      await this.#store.finish(id, operation, "failed", `${operation} failed: ${reason}`);
    }
  }
}

function busy(id: string): BrokerError {
  return new BrokerError(422, "ConcurrencyError", `another operation on instance ${id} is in progress`);
}

/** Bindings have no parameters; one that were ignored would look like one that counts. */
function checkNoParameters({ parameters }: Input): void {
  if (parameters === undefined || parameters === null) return;
  const [name] = typeof parameters === "object" ? Object.keys(parameters) : [""];
  if (name === undefined) return;
  const field = name === "" ? "parameters" : `parameters.${name}`;
  throw new BrokerError(400, "InvalidParameters", `${field} is not supported; bindings have no parameters`);
}

function requireText(input: Input, field: string): string {
  const value = input[field];
  if (typeof value !== "string" || value === "")
    throw new BrokerError(400, "BadRequest", `${field} is missing or not a string`);
  return value;
}

function sorted(parameters: Input): unknown {
  return Object.entries(parameters).toSorted(([left], [right]) => (left < right ? -1 : 1));
}
