/** Classifies the failures of an HTTP exchange. */

/** Failure codes. Only the first two mean that no request was sent. */
export type HttpFailureCode =
  /** No connection came about. */
  | "Unreachable"
  /** No connection that both sides trust came about. */
  | "Tls"
  /** The time was over before the answer was complete. */
  | "Timeout"
  /** The connection broke before the answer was complete. */
  | "Broken"
  /** The answer is longer than 8 MiB, or its head than 16 KiB. */
  | "TooLarge"
  /** The server does not speak HTTP. */
  | "Garbage";

/** There is no complete answer. It has no `cause` on purpose: what lies below carries bytes of the other side, and requests. */
export class HttpFailure extends Error {
  readonly code: HttpFailureCode;
  /** A code of Node or of undici such as `ECONNREFUSED`, or the limit that was passed. Never a word of the other side. */
  readonly detail: string;

  constructor(code: HttpFailureCode, detail: string) {
    super(`${code}: ${detail}`);
    this.name = "HttpFailure";
    this.code = code;
    this.detail = detail;
  }
}

/** No connection came about: whatever was to be sent over it was not sent. */
export class ConnectFailure extends Error {
  /** Error code of Node or of undici. */
  readonly code: string;

  constructor(error: unknown) {
    super("no connection");
    this.name = "ConnectFailure";
    this.code = codeOf(error);
  }
}

const ofTls = /CERT|TLS|SSL|SELF_SIGNED|ALTNAME|UNABLE_TO|^EPROTO$/;
/** In TLS 1.3 a server that rejects our certificate says so after we began to send; it has not read the request. */
const refusedCertificate =
  /^ERR_SSL_.*ALERT_(?:[A-Z_]*CERTIFICATE[A-Z_]*|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)$/;
/** Failure codes by error pattern while reading an answer; an unlisted error is a broken connection. */
const ofAnswers: readonly (readonly [RegExp, HttpFailureCode])[] = [
  [refusedCertificate, "Tls"],
  [/TIMEOUT/, "Timeout"],
  [/HEADERS?_OVERFLOW/, "TooLarge"],
  [/^HPE_(?!INVALID_EOF_STATE)/, "Garbage"],
];

/** The failure that an error of an exchange stands for. `timedOutAfterMs` is the limit of the exchange when that ended it. */
export function failureOf(error: unknown, timedOutAfterMs: number | undefined): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (timedOutAfterMs !== undefined) return new HttpFailure("Timeout", `within ${timedOutAfterMs} ms`);
  const found = codeOf(error);
  const detail = isWord(found) ? found : "unknown";
  if (error instanceof ConnectFailure)
    return new HttpFailure(ofTls.test(found) ? "Tls" : "Unreachable", detail);
  return new HttpFailure(ofAnswers.find(([pattern]) => pattern.test(found))?.[1] ?? "Broken", detail);
}

/** Codes are made by our own side, but nothing else than such a word is shown. */
function isWord(code: string): boolean {
  return /^[A-Z][A-Z0-9_/]{1,60}$/.test(code);
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string")
    return error.code;
  if (!(error instanceof Error)) return "unknown";
  // The parser has no code for an answer that is not HTTP from its first byte.
  if (error.name === "HTTPParserError") return "HPE_INVALID";
  return error.cause === undefined ? "unknown" : codeOf(error.cause);
}
