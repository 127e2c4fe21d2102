/** Decides which requests are possible now (OSB 2.17). Operations on instances run after the answer. */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { KeyedQueue } from "@klutch/data-servers";
import type { Logger } from "@klutch/telemetry";
import type { Worker } from "./backups/worker.ts";
import { catalogOf, findPlan, type Plan, typeOfService } from "./catalog.ts";
import type { Credentials, Driver } from "./drivers/driver.ts";
import { checkParameters, mergeParameters } from "./drivers/parameters.ts";
import { badRequest, BrokerError, notFound } from "./errors.ts";
import type { Binding, Instance, Operation, SeenActivity, Store } from "./store.ts";

/** A request body or query. */
export type Input = Readonly<Record<string, unknown>>;

/** Says what a request led to. */
export type Made = "created" | "present" | "accepted";

/** Throws `BrokerError` for requests that are not possible now. The store knows the running operations, and `resume` continues them after a crash. */
export class BrokerService {
  readonly #store: Store;
  readonly #drivers: readonly Driver[];
  readonly #logger: Logger;
  readonly #backups: Worker | undefined;
  /** Drivers do one thing at a time with an instance. */
  readonly #queue = new KeyedQueue();

  /** Has one driver for each service that is offered. */
  constructor(store: Store, drivers: readonly Driver[], logger: Logger, backups?: Worker) {
    this.#backups = backups;
    this.#store = store;
    this.#drivers = drivers;
    this.#logger = logger;
  }

  /** The body of `GET /v2/catalog`. */
  get catalog(): object {
    return catalogOf(this.#drivers.map(({ kind }) => kind.type));
  }

  /** Starts the instances again, and takes up the operations that a crash interrupted. */
  async resume(): Promise<void> {
    for (const instance of await this.#store.provisioned()) {
      try {
        await this.#driverOf(instance).resume(instance);
      } catch (error) {
        this.#logger.error("instance was not taken up again", { instance: instance.id, error });
      }
    }
    for (const instance of await this.#store.unfinished()) this.#start(instance.id, instance.operation);
  }

  /** Waits for running operations. */
  drain(): Promise<void> {
    return this.#queue.idle();
  }

  async provision(id: string, body: Input): Promise<Made> {
    const { id: planId } = this.#checkPlan(body);
    for (const field of ["organization_guid", "space_guid"]) requireText(body, field);
    const checks = this.#checkService(body).kind.parameters;
    const parameters = mergeParameters({}, checkParameters(body["parameters"], checks));
    if (await this.#store.insert(id, planId, parameters)) {
      this.#start(id, "provision");
      return "accepted";
    }
    const present = await this.#store.instance(id);
    if (present?.planId !== planId || !isDeepStrictEqual(present.parameters, parameters)) {
      const message = `instance ${id} exists with another plan or other parameters`;
      throw new BrokerError(409, "InstanceAlreadyExistsError", message);
    }
    const { operation, state } = present;
    if (operation === "provision" && state === "failed" && (await this.#store.begin(id, "provision"))) {
      this.#start(id, "provision");
      return "accepted";
    }
    return state === "in progress" ? "accepted" : "present";
  }

  async update(id: string, body: Input): Promise<void> {
    const instance = await this.instance(id);
    const checks = this.#checkService(body).kind.parameters;
    if (body["service_id"] !== findPlan(instance.planId)?.serviceId)
      throw badRequest(`service_id is not the service of instance ${id}`);
    const planId = body["plan_id"] === undefined ? instance.planId : this.#checkPlan(body).id;
    const parameters = mergeParameters(instance.parameters, checkParameters(body["parameters"], checks));
    if (!(await this.#store.begin(id, "update", { planId, parameters }))) throw busy(id);
    this.#start(id, "update");
  }

  async deprovision(id: string, query: Input): Promise<void> {
    this.#checkService(query);
    requireText(query, "plan_id");
    if ((await this.#store.instance(id)) === undefined) throw notFound("Instance", id, 410);
    if (!(await this.#store.begin(id, "deprovision"))) throw busy(id);
    this.#start(id, "deprovision");
  }

  /** Returns the instance. Throws 404. */
  async instance(id: string): Promise<Instance> {
    const instance = await this.#store.instance(id);
    if (instance === undefined) throw notFound("Instance", id);
    return instance;
  }

  /** Returns the size and the last session of an instance; undefined if its server cannot tell them. */
  activity(id: string): Promise<SeenActivity | undefined> {
    return this.#store.activity(id);
  }

  async bind(
    instanceId: string,
    id: string,
    body: Input,
  ): Promise<{ readonly made: Made; readonly credentials: Credentials }> {
    const instance = await this.#usable(instanceId);
    if (this.#checkPlan(body).id !== instance.planId)
      throw badRequest(`plan_id is not the plan of instance ${instanceId}`);
    checkNoParameters(body);
    const present = await this.#store.binding(id);
    if (present !== undefined && present.instanceId !== instanceId)
      throw new BrokerError(409, "BindingAlreadyExists", `binding ${id} belongs to another instance`);
    const binding: Binding = present ?? { instanceId, id, salt: randomBytes(24).toString("base64url") };
    await this.#store.insertBinding(binding);
    // Two simultaneous requests both return the password that was stored first.
    const stored = (await this.#store.binding(id)) ?? binding;
    const driver = this.#driverOf(instance);
    const credentials = await this.#queue.run(instanceId, () => driver.bind(stored, instance));
    return { made: present === undefined ? "created" : "present", credentials };
  }

  /** Returns the credentials of a binding. Throws 404. */
  async credentials(instanceId: string, id: string): Promise<Credentials> {
    const binding = await this.#store.binding(id);
    if (binding?.instanceId !== instanceId) throw notFound("Binding", id);
    return this.#driverOf(await this.instance(instanceId)).credentials(binding);
  }

  async unbind(instanceId: string, id: string, query: Input): Promise<void> {
    this.#checkService(query);
    requireText(query, "plan_id");
    const binding = await this.#store.binding(id);
    if (binding?.instanceId !== instanceId) throw notFound("Binding", id, 410);
    const instance = await this.instance(instanceId);
    if (instance.restoring) throw busy(instanceId);
    await this.#queue.run(instanceId, () => this.#driverOf(instance).unbind(binding, instance));
    await this.#store.removeBinding(id);
  }

  async #usable(id: string): Promise<Instance> {
    const instance = await this.instance(id);
    const { operation, state, restoring, description } = instance;
    if (state === "in progress" || restoring) throw busy(id);
    if (operation !== "provision" || state !== "failed") return instance;
    const message = `instance ${id} could not be provisioned: ${description}`;
    throw new BrokerError(422, "InstanceNotProvisioned", message);
  }

  #checkPlan(body: Input): Plan {
    this.#checkService(body);
    const plan = findPlan(requireText(body, "plan_id"));
    const named = `plan_id ${JSON.stringify(body["plan_id"])}`;
    if (plan === undefined) throw badRequest(`${named} is not in the catalog`);
    if (plan.serviceId !== body["service_id"]) throw badRequest(`${named} is not a plan of service_id`);
    return plan;
  }

  #checkService(input: Input): Driver {
    const found = driverOf(this.#drivers, requireText(input, "service_id"));
    if (found !== undefined) return found;
    throw badRequest(`service_id ${JSON.stringify(input["service_id"])} is not in the catalog`);
  }

  /** Throws when this machine has the programs of the instance's service no longer. */
  #driverOf({ id, planId }: Instance): Driver {
    const found = driverOf(this.#drivers, findPlan(planId)?.serviceId);
    if (found !== undefined) return found;
    throw new Error(`the programs of the service of instance ${id} are not on this machine any more`);
  }

  /** Runs the operation after what runs on the instance. */
  #start(id: string, operation: Operation): void {
    void this.#queue
      .run(id, () => this.#work(id, operation))
      .catch((error: unknown) => {
        this.#logger.error("operation was not finished", { instance: id, operation, error });
      });
  }

  async #work(id: string, operation: Operation): Promise<void> {
    const instance = await this.#store.instance(id);
    if (instance?.operation !== operation || instance.state !== "in progress") return;
    try {
      if (operation === "deprovision") {
        await this.#backups?.stop(id);
        await this.#driverOf(instance).drop(instance, await this.#store.bindingsOf(id));
        await this.#backups?.forget(id);
        await this.#store.remove(id);
      } else {
        await this.#driverOf(instance).ensure(instance);
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

/** Returns the driver that makes the instances of a service. */
export function driverOf(drivers: readonly Driver[], serviceId: unknown): Driver | undefined {
  const type = typeOfService(serviceId);
  return drivers.find(({ kind }) => kind.type === type);
}

/** Refuses parameters of bindings: an ignored one would look as if it counted. */
function checkNoParameters({ parameters }: Input): void {
  if (parameters === undefined || parameters === null) return;
  const [name] = typeof parameters === "object" ? Object.keys(parameters) : [""];
  if (name === undefined) return;
  const field = name === "" ? "parameters" : `parameters.${name}`;
  throw new BrokerError(400, "InvalidParameters", `${field} is not supported; bindings have no parameters`);
}

function requireText(input: Input, field: string): string {
  const value = input[field];
  if (typeof value === "string" && value !== "") return value;
  throw badRequest(`${field} is missing or not a string`);
}
