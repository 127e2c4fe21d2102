/** What a service broker can do to us. */

/** The broker answered with an error (OSB "Service Broker Errors"). */
export class OsbError extends Error {
  readonly code = "Broker";
  /** HTTP status. */
  readonly status: number;
  /** Machine-readable `error` of the body, such as `AsyncRequired`; empty when the broker gave none. */
  readonly error: string;
  /** What the broker says, word for word; empty when it said nothing. */
  readonly description: string;
  /** The answer was an error object of a broker, not a page of something that stands before it. */
  readonly own: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(fields: {
    status: number;
    error: string;
    description: string;
    own: boolean;
    action: string;
    retryAfterMs?: number | undefined;
  }) {
    const said = [fields.error, fields.description].filter((text) => text !== "").join(": ");
    const bare = `the broker answered ${fields.action} with HTTP ${fields.status}`;
    const notOwn = isGoneStatus(fields.status) && !fields.own;
    super(notOwn ? `${bare}, and not in the broker's own words` : said === "" ? bare : said);
    this.name = "OsbError";
    this.status = fields.status;
    this.error = fields.error;
    this.description = fields.description;
    this.own = fields.own;
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/** Why there is no usable answer. */
export type OsbTransportCode = "Unreachable" | "Timeout" | "Tls" | "Garbage" | "TooLarge";

/** No answer, or one that the specification does not allow. It is unknown whether the broker did anything. */
export class OsbTransportError extends Error {
  readonly code: OsbTransportCode;

  constructor(code: OsbTransportCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "OsbTransportError";
    this.code = code;
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
  return error instanceof OsbError && error.status === 422 && error.error === "ConcurrencyError";
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

/**
 * Whether the specification asks to delete what a failed create may have left (OSB 2.17 "Orphan Mitigation"): after time-outs, 5xx,
 * unusable 2xx answers and 408, not after a clear refusal.
 */
export function mayHaveLeftOrphan(error: unknown): boolean {
  if (error instanceof OsbTransportError) return error.code !== "Unreachable" && error.code !== "Tls";
  return (
    error instanceof OsbError &&
    (error.status >= 500 || error.status === 408 || (error.status >= 200 && error.status < 300))
  );
}
