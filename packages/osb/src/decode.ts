/**
 * The boundary where a broker's answers become typed. Its words are bounded and made
 * fit for people here, and nowhere later. Every fault names the field.
 */
import { type Clean, cleanText, parsedJson } from "@klutch/http-client";
import { OsbTransportError } from "./errors.ts";
import { isObject, type Json } from "./json.ts";
import type {
  BindOutcome,
  Catalog,
  FetchedBinding,
  FetchedInstance,
  LastOperation,
  Outcome,
  Plan,
  Service,
} from "./types.ts";

/** The longest identifier or name that is taken, in characters; the specification has GUIDs in mind. */
const longestName = 500;
/** The longest `operation` (OSB 2.17 "Asynchronous Operations"), in characters. */
const longestOperation = 10_000;
/** The longest text for people, in characters. */
const longestDescription = 1_000;
/** The longest `error`, in characters. */
const longestWord = 100;

/** Parses a JSON object. */
export function parseObject(text: string, action: string): Json {
  const value = text === "" ? {} : parsedJson(text);
  if (value === undefined)
    throw new OsbTransportError("Garbage", `the broker answered ${action} with ${insteadOfJson(text)}`);
  if (!isObject(value)) throw garbage(action, "the body", "is not an object");
  return value;
}

/** Describes the body in words, because its text comes from a stranger. */
function insteadOfJson(text: string): string {
  const start = text.trimStart()[0] ?? "";
  if (start === "<")
    return "a page (HTML) instead of JSON; check the broker's address, and what stands before it";
  return "[{".includes(start) && start !== ""
    ? "JSON that is broken, or only half of it"
    : "something that is not JSON";
}

export function decodeCatalog(body: Json, action: string): Catalog {
  return {
    services: list(body, "services", action).map((item, index) =>
      service(item, `services[${index}]`, action),
    ),
  };
}

function service(value: unknown, field: string, action: string): Service {
  const body = object(value, field, action);
  return {
    id: text(body, "id", field, action),
    name: text(body, "name", field, action),
    description: descriptionOf(body),
    bindable: body["bindable"] === true,
    instancesRetrievable: body["instances_retrievable"] === true,
    bindingsRetrievable: body["bindings_retrievable"] === true,
    planUpdateable: body["plan_updateable"] === true,
    plans: list(body, "plans", action).map((item, index) => plan(item, `${field}.plans[${index}]`, action)),
  };
}

function plan(value: unknown, field: string, action: string): Plan {
  const body = object(value, field, action);
  const { maximum_polling_duration: seconds, plan_updateable: updateable } = body;
  const { bindable, binding_rotatable: rotatable, maintenance_info: maintenance } = body;
  const maintenanceVersion = isObject(maintenance) ? optionalName(maintenance, "version") : undefined;
  return {
    id: text(body, "id", field, action),
    name: text(body, "name", field, action),
    description: descriptionOf(body),
    ...(isDuration(seconds) ? { maximumPollingDuration: seconds } : {}),
    ...(typeof updateable === "boolean" ? { planUpdateable: updateable } : {}),
    ...(typeof bindable === "boolean" ? { bindable } : {}),
    ...(typeof rotatable === "boolean" ? { bindingRotatable: rotatable } : {}),
    ...(maintenanceVersion === undefined ? {} : { maintenanceVersion }),
  };
}

/** Zero would end each operation before it began. */
function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

/** Checks the status of a provision or bind: success is 200, 201 or 202 only (OSB 2.17 "Orphan Mitigation"). */
export function checkCreated(status: number, action: string): void {
  if (status < 200 || status > 202)
    throw new OsbTransportError("Garbage", `the broker answered ${action} with HTTP ${status}`);
}

export function decodeOutcome(
  status: number,
  body: Json,
  action: string,
  retryAfterMs: number | undefined,
): Outcome {
  return status === 202 ? accepted(body, action, retryAfterMs) : { kind: "done" };
}

export function decodeBind(
  status: number,
  body: Json,
  action: string,
  retryAfterMs: number | undefined,
): BindOutcome {
  if (status === 202) return accepted(body, action, retryAfterMs);
  const { credentials } = body;
  if (!isObject(credentials)) throw garbage(action, "credentials", "is missing or not an object");
  return { kind: "done", credentials };
}

function accepted(
  body: Json,
  action: string,
  retryAfterMs: number | undefined,
): Extract<Outcome, { kind: "accepted" }> {
  const { operation } = body;
  if (operation !== undefined && operation !== null && typeof operation !== "string") {
    throw garbage(action, "operation", "is not a string");
  }
  if (typeof operation === "string" && operation.length > longestOperation)
    throw garbage(action, "operation", `is longer than ${longestOperation} characters`);
  return { kind: "accepted", ...(typeof operation === "string" ? { operation } : {}), retryAfterMs };
}

export function decodeLastOperation(
  body: Json,
  action: string,
  retryAfterMs: number | undefined,
  clean: Clean = cleanText,
): LastOperation {
  const { state, instance_usable: usable, update_repeatable: repeatable } = body;
  if (state !== "in progress" && state !== "succeeded" && state !== "failed") {
    throw garbage(action, "state", `is ${wordFor(state, clean)}, not "in progress", "succeeded" or "failed"`);
  }
  return {
    state,
    description: descriptionOf(body, clean),
    retryAfterMs,
    ...(typeof usable === "boolean" ? { instanceUsable: usable } : {}),
    ...(typeof repeatable === "boolean" ? { updateRepeatable: repeatable } : {}),
  };
}

export function decodeInstance(body: Json): FetchedInstance {
  const { parameters, metadata } = body;
  const attributes = isObject(metadata) ? metadata["attributes"] : undefined;
  return {
    serviceId: optionalName(body, "service_id"),
    planId: optionalName(body, "plan_id"),
    ...(isObject(parameters) ? { parameters } : {}),
    ...(isObject(attributes) ? { attributes } : {}),
  };
}

export function decodeBinding(body: Json): FetchedBinding {
  const { credentials } = body;
  return isObject(credentials) ? { credentials } : {};
}

/** Fields of an error answer. */
export interface ErrorWords {
  /** An error object of a broker, not a page of something that stands before it. */
  readonly own: boolean;
  readonly error: string;
  readonly description: string;
  readonly instanceUsable: boolean | undefined;
  readonly updateRepeatable: boolean | undefined;
}

/** Reads an answer that is not 2xx. A proxy's page is not fit for people's conditions: it counts as empty. */
export function decodeError(text: string, isJson: boolean, clean: Clean = cleanText): ErrorWords {
  const body = brokerErrorOf(text);
  return {
    own: body !== undefined && isJson,
    error: clean(optionalText(body ?? {}, "error"), longestWord),
    description: descriptionOf(body ?? {}, clean),
    instanceUsable: optionalFlag(body ?? {}, "instance_usable"),
    updateRepeatable: optionalFlag(body ?? {}, "update_repeatable"),
  };
}

/**
 * The error object of a broker; undefined when the text is something else. The specification allows `{}`, and `error` and
 * `description` as texts; an object without either speaks of something else.
 */
export function brokerErrorOf(text: string): Json | undefined {
  const value = parsedJson(text);
  if (!isObject(value)) return undefined;
  const { error, description } = value;
  const isEmpty = Object.keys(value).length === 0;
  return isEmpty || typeof error === "string" || typeof description === "string" ? value : undefined;
}

/** A truth value, or undefined when it is absent or something else. */
function optionalFlag(body: Json, name: string): boolean | undefined {
  const value = body[name];
  return typeof value === "boolean" ? value : undefined;
}

/** A text field, or "" when it is absent or something else. */
function optionalText(body: Json, name: string): string {
  const value = body[name];
  return typeof value === "string" ? value : "";
}

/** An identifier, or undefined when it is absent or none. */
function optionalName(body: Json, name: string): string | undefined {
  const value = body[name];
  return typeof value === "string" && value !== "" && value.length <= longestName ? value : undefined;
}

function descriptionOf(body: Json, clean: Clean = cleanText): string {
  return clean(optionalText(body, "description"), longestDescription);
}

/** Describes the unexpected value. */
function wordFor(value: unknown, clean: Clean): string {
  if (typeof value === "string") return JSON.stringify(clean(value, longestWord));
  return value === undefined ? "missing" : `of type ${value === null ? "null" : typeof value}`;
}

function object(value: unknown, field: string, action: string): Json {
  if (!isObject(value)) throw garbage(action, field, "is not an object");
  return value;
}

function list(body: Json, name: string, action: string): readonly unknown[] {
  const value = body[name];
  if (!Array.isArray(value)) throw garbage(action, name, "is not a list");
  return value;
}

function text(body: Json, name: string, field: string, action: string): string {
  const value = body[name];
  if (typeof value !== "string" || value === "")
    throw garbage(action, `${field}.${name}`, "is missing or not a string");
  if (value.length > longestName)
    throw garbage(action, `${field}.${name}`, `is longer than ${longestName} characters`);
  return value;
}

function garbage(action: string, field: string, problem: string): OsbTransportError {
  return new OsbTransportError(
    "Garbage",
    `the broker answered ${action} with an object whose ${field} ${problem}`,
  );
}
