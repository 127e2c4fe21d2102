/**
 * A broker in memory that keeps every rule. It is a fake: it makes no databases, and exists because no real broker breaks a rule
 * on purpose. An operation ends after a number of requests, not after a time.
 */
import { type Json, type OsbOperation, isObject, operationOf } from "@klutch/osb/internal";

/** A request as the fake sees it. */
export interface FakeRequest {
  readonly verb: OsbOperation;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Undefined when it is no JSON object. */
  readonly body: Json | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Its answer. */
export interface FakeAnswer {
  readonly status: number;
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
}

interface Operation {
  readonly name: string;
  /** Requests until it ends. */
  left: number;
  readonly end: () => void;
}

interface Thing {
  readonly attributes: string;
  plan: unknown;
  exists: boolean;
  operation: Operation | undefined;
}

export const credentials = { username: "u", password: "s3cret-password" } as const;
const defaultLength = 12;
const offeringId = "9d4b2a4e-0c51-4f33-9a0e-4d2f3c8e1a01";
const planIds = ["9d4b2a4e-0c51-4f33-9a0e-4d2f3c8e1a02", "9d4b2a4e-0c51-4f33-9a0e-4d2f3c8e1a03"];

/** Good plans. */
export const goodPlans: readonly Json[] = planIds.map((id, index) => ({
  id,
  name: `plan-${index}`,
  description: "A plan.",
  maximum_polling_duration: 60,
  maintenance_info: { version: "1.0.0" },
  schemas: {
    service_instance: { create: { parameters: { $schema: "http://json-schema.org/draft-04/schema#" } } },
  },
}));

/** A good offering, all of the catalog. */
export const goodOffering: Json = {
  id: offeringId,
  name: "memory",
  description: "Nothing but memory.",
  bindable: true,
  instances_retrievable: true,
  bindings_retrievable: true,
  plan_updateable: true,
  requires: ["route_forwarding"],
  tags: ["fake"],
  plans: goodPlans,
};

/** Names of the fields that a broker knows; it refuses each other one. */
export interface KnownFields {
  /** Fields of the context that it requires; undefined if it knows no context. */
  readonly context: readonly string[] | undefined;
}

/** Kinds of a memory broker. */
export interface MemoryBrokerOptions {
  readonly asynchronous: boolean;
  /** Default: it requires organisation and space, and ignores what it does not know. */
  readonly fields?: KnownFields | undefined;
  /** Number of requests that an operation lasts. Default 12. */
  readonly operationLength?: number | undefined;
}

/** Fields of a body beside the context and those that the specification deprecates. */
const knownFields: readonly string[] = [
  "service_id",
  "plan_id",
  "parameters",
  "maintenance_info",
  "previous_values",
  "bind_resource",
];

/** Instances and bindings by path. */
export class MemoryBroker {
  readonly things: Map<string, Thing> = new Map();
  readonly #asynchronous: boolean;
  readonly #fields: KnownFields | undefined;
  readonly #operationLength: number;

  constructor({ asynchronous, fields, operationLength = defaultLength }: MemoryBrokerOptions) {
    this.#asynchronous = asynchronous;
    this.#fields = fields;
    this.#operationLength = operationLength;
  }

  /** Tells whether an instance or a binding is still being made. */
  isProvisioning(path: string): boolean {
    const thing = this.things.get(path);
    return thing !== undefined && !thing.exists;
  }

  answer(request: FakeRequest): FakeAnswer {
    const echo = { "x-broker-api-request-identity": request.headers["x-broker-api-request-identity"] ?? "" };
    const { status, body } = this.#decide(request);
    return { status, body, headers: { "content-type": "application/json", ...echo } };
  }

  #decide(request: FakeRequest): Pick<FakeAnswer, "status" | "body"> {
    const { verb, path, headers } = request;
    const basic = Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64");
    if (headers["authorization"] !== `Basic ${basic}`) return refusal(401, "Unauthorized");
    if (headers["x-broker-api-version"] === undefined) return refusal(400, "NoVersion");
    if (verb === "catalog") return { status: 200, body: { services: [goodOffering] } };
    const unknown = this.#unknownField(request);
    if (unknown !== undefined) return { status: 400, body: { error: "BadRequest", description: unknown } };
    const thing = this.things.get(path.replace(/\/last_operation$/, ""));
    if (thing?.operation !== undefined && --thing.operation.left <= 0) {
      thing.operation.end();
      thing.operation = undefined;
    }
    return this.#perform(request, this.things.get(path.replace(/\/last_operation$/, "")));
  }

  #perform(request: FakeRequest, thing: Thing | undefined): Pick<FakeAnswer, "status" | "body"> {
    switch (request.verb) {
      case "provision":
      case "bind":
        return this.#create(request, thing);
      case "update":
        return this.#update(request, thing);
      case "deprovision":
      case "unbind":
        return this.#delete(request, thing);
      case "fetch_instance":
        if (thing?.exists !== true) return refusal(404, "NotFound");
        if (thing.operation !== undefined) return refusal(422, "ConcurrencyError");
        return { status: 200, body: { service_id: offeringId, plan_id: thing.plan, parameters: {} } };
      case "fetch_binding":
        return thing?.exists === true ? { status: 200, body: binding } : refusal(404, "NotFound");
      case "last_operation":
        if (thing === undefined) return refusal(410, "Gone");
        return { status: 200, body: { state: thing.operation === undefined ? "succeeded" : "in progress" } };
      case "catalog":
      case "other":
        return refusal(404, "NotFound");
    }
  }

  /** Says which field is too many, or missing in the context. */
  #unknownField({ body = {} }: FakeRequest): string | undefined {
    if (this.#fields === undefined) return undefined;
    const { context } = this.#fields;
    const known = context === undefined ? knownFields : [...knownFields, "context"];
    const other = Object.keys(body).find((field) => !known.includes(field));
    if (other !== undefined) return `unknown field ${other}`;
    const given = isObject(body["context"]) ? body["context"] : {};
    const isRequired = context !== undefined && body["service_id"] !== undefined;
    const missing = context?.find((field) => typeof given[field] !== "string");
    if (isRequired && missing !== undefined) return `context.${missing} is required`;
    const more = Object.keys(given).find((field) => context?.includes(field) !== true);
    return more === undefined ? undefined : `unknown field context.${more}`;
  }

  #create(request: FakeRequest, thing: Thing | undefined): Pick<FakeAnswer, "status" | "body"> {
    const { verb, body, path } = request;
    const deprecated =
      verb === "bind" || this.#fields !== undefined ? [] : ["organization_guid", "space_guid"];
    const fields = ["service_id", "plan_id", ...deprecated];
    if (body === undefined || !fields.every((field) => typeof body[field] === "string"))
      return refusal(400, "BadRequest");
    if (body["service_id"] !== offeringId || !planIds.includes(String(body["plan_id"])))
      return refusal(400, "BadRequest");
    const attributes = JSON.stringify([body["plan_id"], body["parameters"] ?? {}]);
    const result = verb === "bind" ? binding : { dashboard_url: null };
    if (thing !== undefined) {
      if (thing.attributes !== attributes) return refusal(409, "Conflict");
      return thing.operation === undefined ? { status: 200, body: result } : accepted(thing.operation);
    }
    if (!this.#asynchronous) {
      this.things.set(path, { attributes, plan: body["plan_id"], exists: true, operation: undefined });
      return { status: 201, body: result };
    }
    if (!acceptsIncomplete(request)) return refusal(422, "AsyncRequired");
    const made: Thing = { attributes, plan: body["plan_id"], exists: false, operation: undefined };
    this.things.set(path, made);
    return this.#begin(made, verb, () => {
      made.exists = true;
    });
  }

  #update(request: FakeRequest, thing: Thing | undefined): Pick<FakeAnswer, "status" | "body"> {
    const { body } = request;
    if (typeof body?.["service_id"] !== "string") return refusal(400, "BadRequest");
    if (thing === undefined) return refusal(404, "NotFound");
    if (thing.operation?.name === "update") return accepted(thing.operation);
    if (thing.operation !== undefined) return refusal(422, "ConcurrencyError");
    const change = (): void => {
      thing.plan = body["plan_id"] ?? thing.plan;
    };
    if (!this.#asynchronous) {
      change();
      return { status: 200, body: {} };
    }
    if (!acceptsIncomplete(request)) return refusal(422, "AsyncRequired");
    return this.#begin(thing, "update", change);
  }

  #delete(request: FakeRequest, thing: Thing | undefined): Pick<FakeAnswer, "status" | "body"> {
    const { verb, path, query } = request;
    if (!query.has("service_id") || !query.has("plan_id")) return refusal(400, "BadRequest");
    if (thing === undefined) return refusal(410, "Gone");
    if (thing.operation?.name === verb) return accepted(thing.operation);
    if (thing.operation !== undefined) return refusal(422, "ConcurrencyError");
    const remove = (): void => {
      this.things.delete(path);
    };
    if (!this.#asynchronous) {
      remove();
      return { status: 200, body: {} };
    }
    if (!acceptsIncomplete(request)) return refusal(422, "AsyncRequired");
    return this.#begin(thing, verb, remove);
  }

  #begin(thing: Thing, name: string, end: () => void): Pick<FakeAnswer, "status" | "body"> {
    thing.operation = { name, left: this.#operationLength, end };
    return accepted(thing.operation);
  }
}

const binding: Json = {
  credentials: { uri: "memory://u:hidden-credential@127.0.0.1/x" },
  endpoints: [{ host: "127.0.0.1", ports: ["1"], protocol: "tcp" }],
};

function accepted({ name }: Operation): Pick<FakeAnswer, "status" | "body"> {
  return { status: 202, body: { operation: name } };
}

function refusal(status: number, error: string): Pick<FakeAnswer, "status" | "body"> {
  return { status, body: { error, description: `This is ${error}.` } };
}

function acceptsIncomplete({ query }: FakeRequest): boolean {
  return query.get("accepts_incomplete") === "true";
}

/** The request as the fake understands it. */
export function fakeRequest(
  method: string,
  target: string,
  headers: FakeRequest["headers"],
  text: string,
): FakeRequest {
  const { pathname, searchParams } = new URL(target, "http://fake");
  return {
    verb: operationOf(method, pathname),
    path: pathname,
    query: searchParams,
    body: objectIn(text),
    headers,
  };
}

function objectIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
