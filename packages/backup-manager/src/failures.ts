/** What a failure below HTTP means: which of our errors it is. */
import type { CallAbout } from "./call.ts";
import { BackupManagerTransportError, type BackupManagerTransportCode } from "./errors.ts";

/** A page instead of JSON is no failure below HTTP. */
type FailureCode = Exclude<BackupManagerTransportCode, "ContentType">;

/** No connection came about: whatever was to be sent over it was not sent. */
export class ConnectFailure extends Error {
  /** Of Node or of the HTTP client. */
  readonly failure: string;

  constructor(error: unknown) {
    super("no connection");
    this.name = "ConnectFailure";
    this.failure = codeOf(error);
  }
}

const ofTls = /CERT|TLS|SSL|SELF_SIGNED|ALTNAME|UNABLE_TO|^EPROTO$/;
/** Of an answer, by the codes of the HTTP client; what is not listed is a connection that broke. */
const ofAnswers: readonly (readonly [RegExp, FailureCode])[] = [
  [/TIMEOUT/, "Timeout"],
  [/HEADERS?_OVERFLOW/, "TooLarge"],
  [/^HPE_(?!INVALID_EOF_STATE)/, "Garbage"],
];

/**
 * The error for a failure of the call. `timedOutAfterMs` is the call's limit when that was what ended it. Of the failure only its code is
 * used: messages and data of it can carry bytes of the other side.
 */
export function brokenAnswer(
  error: unknown,
  about: CallAbout,
  timedOutAfterMs: number | undefined,
): BackupManagerTransportError {
  if (error instanceof BackupManagerTransportError) return error;
  if (timedOutAfterMs !== undefined) {
    const problem = `no complete answer came within ${timedOutAfterMs} ms. Try again, or allow more time by timeoutMs.`;
    return new BackupManagerTransportError("Timeout", about, problem);
  }
  if (error instanceof ConnectFailure) {
    const code = ofTls.test(error.failure) ? "Tls" : "Unreachable";
    return new BackupManagerTransportError(code, about, sentences[code](error.failure));
  }
  const failure = codeOf(error);
  const code = ofAnswers.find(([pattern]) => pattern.test(failure))?.[1] ?? "Broken";
  return new BackupManagerTransportError(code, about, sentences[code](failure));
}

const sentences: Readonly<Record<FailureCode, (failure: string) => string>> = {
  Unreachable: (failure) =>
    `the backup manager cannot be reached (${failure}). Check url and that the manager runs.`,
  Tls: (failure) =>
    `no trusted TLS connection came about (${failure}). Check tls.ca, tls.serverName and that url speaks TLS.`,
  Timeout: (failure) =>
    `no complete answer came in time (${failure}). Try again, or allow more time by timeoutMs.`,
  Broken: (failure) => `the connection broke before the answer was complete (${failure}). Try again.`,
  TooLarge: (failure) =>
    `the head of the answer is too long (${failure}). Check that url leads to a backup manager.`,
  Garbage: (failure) => `the answer is no HTTP (${failure}). Check url, and whether http or https is right.`,
};

/** Codes are made by our own side, but nothing else than such a word gets through. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string")
    return /^[A-Z][A-Z0-9_]{1,60}$/.test(error.code) ? error.code : "unknown";
  if (!(error instanceof Error)) return "unknown";
  // The parser has no code for what is not HTTP from its first letter.
  if (error.name === "HTTPParserError") return "HPE_INVALID";
  return error.cause === undefined ? "unknown" : codeOf(error.cause);
}
