/** Defines the failures of a call to a service broker. */
import type { HttpFailureCode } from "@klutch/http-client";

/** Values of `error` that the specification defines (OSB 2.17 "Error Codes"). All come with status 422. */
export const specifiedErrors = [
  "AsyncRequired",
  "ConcurrencyError",
  "RequiresApp",
  "MaintenanceInfoConflict",
] as const;

/** An error that the specification defines. */
export type SpecifiedError = (typeof specifiedErrors)[number];

/** The broker answered with an error (OSB "Service Broker Errors"). */
export class OsbError extends Error {
  readonly code = "Broker";
  /** HTTP status. */
  readonly status: number;
  /** Machine-readable `error` of the body, such as `AsyncRequired`: one line, at most 100 characters; empty when the broker gave none. */
  readonly error: string;
  /** Message of the broker: one line, at most 1 000 characters, without our credentials; empty if it sent none. */
  readonly description: string;
  /** The answer was an error object of a broker, not a page of something that stands before it. */
  readonly own: boolean;
  readonly retryAfterMs: number | undefined;
  /** `error`, when it is one that the specification defines and came with the status that belongs to it. */
  readonly specified: SpecifiedError | undefined;
  /** After a failed update or deprovisioning: whether the instance is still usable, as reported by the broker. */
  readonly instanceUsable: boolean | undefined;
  /** After a failed update: whether the same one may succeed later, as reported by the broker. */
  readonly updateRepeatable: boolean | undefined;
  /** Name of the request in `X-Broker-API-Request-Identity`, to find it in the broker's log. */
  readonly requestIdentity: string | undefined;

  constructor(fields: {
    status: number;
    error: string;
    description: string;
    own: boolean;
    action: string;
    retryAfterMs?: number | undefined;
    instanceUsable?: boolean | undefined;
    updateRepeatable?: boolean | undefined;
    requestIdentity?: string | undefined;
  }) {
    const said = [fields.error, fields.description].filter((text) => text !== "").join(": ");
    const bare = `the broker answered ${fields.action} with HTTP ${fields.status}`;
    const notOwn = isGoneStatus(fields.status) && !fields.own;
    const silent = fields.status === 401 ? `${bare}: it does not take our credentials` : bare;
    super(notOwn ? `${bare}, and not in the broker's own words` : said === "" ? silent : said);
    this.name = "OsbError";
    this.status = fields.status;
    this.error = fields.error;
    this.description = fields.description;
    this.own = fields.own;
    this.retryAfterMs = fields.retryAfterMs;
    this.specified =
      fields.status === 422 ? specifiedErrors.find((known) => known === fields.error) : undefined;
    this.instanceUsable = fields.instanceUsable;
    this.updateRepeatable = fields.updateRepeatable;
    this.requestIdentity = fields.requestIdentity;
  }
}

/**
 * Reason for the lack of a usable answer: the codes below HTTP, where `Garbage` also means an answer that the specification does not allow.
 * `NotSent`: the request or the configuration cannot be sent to this broker. `Login`: no access token was issued.
 */
export type OsbTransportCode = HttpFailureCode | "NotSent" | "Login";

/**
 * No answer, or one that the specification does not allow; `mayHaveLeftOrphan` tells whether the broker may have done anything. It has no
 * `cause` on purpose: what lies below carries requests and bytes of the other side.
 */
export class OsbTransportError extends Error {
  readonly code: OsbTransportCode;
  /** HTTP status of an answer that came whole and cannot be used. */
  readonly status: number | undefined;

  constructor(code: OsbTransportCode, message: string, status?: number) {
    super(message);
    this.name = "OsbTransportError";
    this.code = code;
    this.status = status;
  }
}

/** 404 or 410 in the broker's own words: the thing is not there. Nothing else means that, least of all a proxy's page. */
export function isGone(error: unknown): error is OsbError {
  return error instanceof OsbError && error.own && isGoneStatus(error.status);
}

function isGoneStatus(status: number): boolean {
  return status === 404 || status === 410;
}

/** 422 ConcurrencyError: another operation on the instance is running. */
export function isConcurrency(error: unknown): error is OsbError {
  return isSpecified(error, "ConcurrencyError");
}

/** 422 AsyncRequired: the plan needs a call with `acceptsIncomplete`. */
export function isAsyncRequired(error: unknown): error is OsbError {
  return isSpecified(error, "AsyncRequired");
}

/** 422 RequiresApp: the binding needs `bindResource.appGuid`. */
export function isAppRequired(error: unknown): error is OsbError {
  return isSpecified(error, "RequiresApp");
}

/** 422 MaintenanceInfoConflict: the catalog has another `maintenance_info.version` for the plan; fetch it again. */
export function isMaintenanceInfoConflict(error: unknown): error is OsbError {
  return isSpecified(error, "MaintenanceInfoConflict");
}

function isSpecified(error: unknown, code: SpecifiedError): error is OsbError {
  return error instanceof OsbError && error.specified === code;
}

/** The broker refused the request itself; sending it again will not help. */
export function isRefusal(error: unknown): error is OsbError {
  return (
    error instanceof OsbError &&
    error.status >= 400 &&
    error.status < 500 &&
    ![401, 403, 408, 429].includes(error.status) &&
    !isConcurrency(error)
  );
}

const neverArrived: ReadonlySet<OsbTransportCode> = new Set(["Unreachable", "Tls", "NotSent", "Login"]);

/**
 * Returns true if a failed create may have left an orphan (OSB 2.17 "Orphan Mitigation"): after time-outs, 5xx and unusable 2xx answers,
 * not after a clear refusal. Also after 408: the specification takes it for a request that was not received, but proxies
 * send it, too, when the broker is slow.
 */
export function mayHaveLeftOrphan(error: unknown): boolean {
  if (error instanceof OsbTransportError) return !neverArrived.has(error.code);
  return (
    error instanceof OsbError &&
    (error.status >= 500 || error.status === 408 || (error.status >= 200 && error.status < 300))
  );
}

/**
 * Returns true if a create with this failure must be followed by a deprovision or an unbind (OSB 2.17 "Orphan Mitigation").
 *
 * | answer                                  | needs it |
 * |-----------------------------------------|----------|
 * | 200 with a malformed body               | no       |
 * | 201 with a malformed body               | yes      |
 * | any other 2xx that is not as specified  | yes      |
 * | 408                                     | no       |
 * | any other 4xx                           | no       |
 * | 5xx                                     | yes      |
 * | none in time, or half of one            | yes      |
 * | nothing was sent                        | no       |
 *
 * Where it says no and `mayHaveLeftOrphan` says yes, the same call once more is safe and shows the result of the first.
 */
export function needsOrphanMitigation(error: unknown): boolean {
  if (error instanceof OsbError) return error.status >= 500;
  return error instanceof OsbTransportError && error.status !== 200 && !neverArrived.has(error.code);
}
