/** Errors of the requests to an API server. */
import type { ClusterConfig } from "./config.ts";

/** Fields of a `Status` answer (Kubernetes API conventions, "Response Status Kind"). */
export interface ApiErrorFields {
  readonly status: number;
  /** Machine-readable reason such as `NotFound`; empty when the server gave none. */
  readonly reason: string;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
  readonly details?: unknown;
}

/** The server answered with something other than success. */
export class ApiError extends Error {
  readonly code = "Api";
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  readonly details: unknown;

  constructor(fields: ApiErrorFields) {
    super(fields.message);
    this.name = "ApiError";
    this.status = fields.status;
    this.reason = fields.reason;
    this.retryAfterMs = fields.retryAfterMs;
    this.details = fields.details;
  }
}

/** The reasons why no usable answer came. */
export type TransportErrorCode =
  | "ConnectionRefused"
  | "NotResolved"
  | "Timeout"
  | "Reset"
  | "Tls"
  | "Decode"
  | "TooLarge"
  | "Endless"
  | "Auth";

/** No answer, or one that is not JSON of the API. For a write it is unknown whether it took effect. */
export class TransportError extends Error {
  readonly code: TransportErrorCode;
  /** The cluster that was asked, as the kubeconfig names it; undefined if the failure does not depend on it. */
  readonly cluster: Pick<ClusterConfig, "name" | "server"> | undefined;

  constructor(
    code: TransportErrorCode,
    message: string,
    options?: { readonly cause?: unknown; readonly cluster?: TransportError["cluster"] },
  ) {
    super(message, options);
    this.name = "TransportError";
    this.code = code;
    this.cluster = options?.cluster;
  }
}

/** Nothing, not even a bookmark, arrived on a watch within its idle limit. */
export class WatchStalledError extends Error {
  readonly code = "WatchStalled";

  constructor(idleMs: number, options?: { readonly cause?: unknown }) {
    super(`the watch was silent for ${idleMs} ms`, options);
    this.name = "WatchStalledError";
  }
}

/** A write was refused before it was sent, because this process does not hold its lease. */
export class FencedError extends Error {
  readonly code = "Fenced";

  constructor(message: string) {
    super(message);
    this.name = "FencedError";
  }
}

const isStatus =
  (status: number) =>
  (error: unknown): error is ApiError =>
    error instanceof ApiError && error.status === status;

/** 404. */
export const isNotFound: (error: unknown) => error is ApiError = isStatus(404);
/** 401: the server does not know (any more) whose credential this is. */
export const isUnauthorized: (error: unknown) => error is ApiError = isStatus(401);
/** 403. */
export const isForbidden: (error: unknown) => error is ApiError = isStatus(403);
/** 422: the object is refused by its schema. */
export const isInvalid: (error: unknown) => error is ApiError = isStatus(422);
/** 429. */
export const isTooManyRequests: (error: unknown) => error is ApiError = isStatus(429);

/** 409 because the object exists already. */
export function isAlreadyExists(error: unknown): error is ApiError {
  return error instanceof ApiError && error.reason === "AlreadyExists";
}

/** 409 because the object changed since it was read, or another field manager owns a field. */
export function isConflict(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.reason !== "AlreadyExists";
}

/** The resourceVersion or continue token is too old: HTTP 410, or an ERROR event with that code. */
export function isGone(error: unknown): error is ApiError {
  return (
    error instanceof ApiError &&
    (error.status === 410 || error.reason === "Expired" || error.reason === "Gone")
  );
}

/** The reasons that API servers give (apimachinery, `metav1.StatusReason`). */
const statusReasons: ReadonlySet<string> = new Set([
  "AlreadyExists",
  "BadRequest",
  "Conflict",
  "Expired",
  "Forbidden",
  "Gone",
  "InternalError",
  "Invalid",
  "MethodNotAllowed",
  "NotAcceptable",
  "NotFound",
  "RequestEntityTooLarge",
  "ServerTimeout",
  "ServiceUnavailable",
  "StoreReadError",
  "Timeout",
  "TooManyRequests",
  "Unauthorized",
  "UnsupportedMediaType",
]);

/**
 * Says how a request failed without a word of the answer or of the network: for a reader who may have chosen the address, and must not learn
 * about the place that it leads to.
 */
export function failureOutline(error: unknown): string {
  if (!(error instanceof ApiError)) return "no usable answer came";
  const { status, reason } = error;
  return statusReasons.has(reason) ? `the answer was ${status} (${reason})` : `the answer was ${status}`;
}

const tlsCodes = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/;

/** Turns what undici or the socket threw into a `TransportError`; an abort by the caller passes through as it is. */
export function toTransportError(
  error: unknown,
  action: string,
  {
    signal,
    cluster,
  }: { readonly signal?: AbortSignal | undefined; readonly cluster?: TransportError["cluster"] } = {},
): unknown {
  if (signal?.aborted === true) return signal.reason ?? error;
  if (error instanceof ApiError || error instanceof TransportError || error instanceof FencedError)
    return error;
  const code = codeOf(error);
  const text = error instanceof Error && error.message !== "" ? error.message.split("\n")[0] : code;
  return new TransportError(classify(code), `${action}: ${text}`, { cause: error, cluster });
}

function classify(code: string): TransportErrorCode {
  if (code === "ECONNREFUSED") return "ConnectionRefused";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "NotResolved";
  if (code.endsWith("TIMEOUT") || code === "ETIMEDOUT") return "Timeout";
  return tlsCodes.test(code) ? "Tls" : "Reset";
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string")
    return error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : "";
}
