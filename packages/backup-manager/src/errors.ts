/** Defines the failures of calls to a backup manager. Every message names the call, the failure, and the next step. */
import { adviceFor } from "./advice.ts";
import type { CallAbout, BackupManagerCall } from "./call.ts";
import { type BackupManagerErrorCode, errorCodeOf } from "./status.ts";

/** Fields that are read from an answer other than 2xx. */
export interface ErrorAnswer {
  /** HTTP status. */
  readonly status: number;
  /** `error` of the body, on one line; empty when there is none. */
  readonly error: string;
  /** `description` of the body, on one line; empty when there is none. */
  readonly description: string;
  /** True if it was an error object of a backup manager. */
  readonly own: boolean;
  /** Wait in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** The manager answered with a status other than 2xx. */
export class BackupManagerError extends Error {
  readonly code: BackupManagerErrorCode;
  readonly call: BackupManagerCall;
  /** HTTP status. */
  readonly status: number;
  /** `error` of the body, such as `InvalidStatusError`; one line of at most 100 characters, empty when there is none. */
  readonly error: string;
  /** `description` of the body; one line of at most 300 characters, without credentials, empty when there is none. */
  readonly description: string;
  /** The answer was an error object of a backup manager, not a page of something that stands before it. */
  readonly own: boolean;
  /** Wait that the manager requests, in milliseconds, at most an hour. */
  readonly retryAfterMs: number | undefined;

  constructor({ call, subject }: CallAbout, answer: ErrorAnswer) {
    const { status, error, description, own, retryAfterMs } = answer;
    const said = [error, description].filter((text) => text !== "").join(": ");
    const words = said === "" ? "" : `, saying ${JSON.stringify(said)}`;
    const code = errorCodeOf(status);
    super(
      `${call} of ${subject}: the backup manager answered HTTP ${status} ${code}${words}. ${adviceFor(call, status, own)}`,
    );
    this.name = "BackupManagerError";
    this.code = code;
    this.call = call;
    this.status = status;
    this.error = error;
    this.description = description;
    this.own = own;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Reason for the lack of a usable answer. */
export type BackupManagerTransportCode =
  /** No connection came about, so nothing was asked. */
  | "Unreachable"
  /** No connection that can be trusted came about, so nothing was asked. */
  | "Tls"
  /** The time was over before the answer was complete. */
  | "Timeout"
  /** The connection broke before the answer was complete. */
  | "Broken"
  /** The answer is longer than 8 MiB. */
  | "TooLarge"
  /** A 2xx answer with something else than JSON, such as the page of a login. */
  | "ContentType"
  /** A 2xx answer that is no JSON, or JSON without what the call needs; or what answers does not speak HTTP. */
  | "Garbage";

/**
 * There is no answer, or one that cannot be used; see `mayHaveHappened` for what the manager may have done. There is no `cause` on
 * purpose: what lies below carries bytes of the other side.
 */
export class BackupManagerTransportError extends Error {
  readonly code: BackupManagerTransportCode;
  readonly call: BackupManagerCall;

  constructor(
    code: BackupManagerTransportCode,
    about: CallAbout,
    /** Failure and next step, as sentences. */
    problem: string,
  ) {
    super(`${about.call} of ${about.subject}: ${problem}`);
    this.name = "BackupManagerTransportError";
    this.code = code;
    this.call = about.call;
  }
}

/** The configuration of a client cannot be used. The message names the field and never its value. */
export class BackupManagerConfigError extends Error {
  readonly code = "Config";

  constructor(message: string) {
    super(message);
    this.name = "BackupManagerConfigError";
  }
}

/** 404 or 410 in the manager's own words: the thing is not there. Nothing else means that, least of all a proxy's page. */
export function isGone(error: unknown): error is BackupManagerError {
  return error instanceof BackupManagerError && error.own && (error.status === 404 || error.status === 410);
}

/** 423: the object to delete is in use. Trying again later helps. */
export function isLocked(error: unknown): error is BackupManagerError {
  return error instanceof BackupManagerError && error.status === 423;
}

/**
 * 409 to `createRestore`: a restore of the instance is running. After a lost answer it may be the very one that was asked for; look for
 * it by `findLostRestore` before anything else.
 */
export function isRestoreRunning(error: unknown): error is BackupManagerError {
  return error instanceof BackupManagerError && error.call === "createRestore" && error.status === 409;
}

/** 422 to `createRestore`: the backup is not in a state from which it can be restored. Helps to wait while the backup is in progress. */
export function isNotRestorable(error: unknown): error is BackupManagerError {
  return error instanceof BackupManagerError && error.call === "createRestore" && error.status === 422;
}

/** 4xx statuses that do not change with time. */
const passing: ReadonlySet<number> = new Set([401, 403, 404, 408, 409, 410, 422, 423, 425, 429]);

/**
 * Returns true if the manager refused the request itself, so that sending it again will not help. False for objects that are gone (see
 * `isGone`), for statuses that change with time, and for 400 to `deleteBackup`, which means that the manager could not delete a file.
 */
export function isRefusal(error: unknown): error is BackupManagerError {
  return (
    error instanceof BackupManagerError &&
    error.status >= 400 &&
    error.status < 500 &&
    !passing.has(error.status) &&
    !(error.call === "deleteBackup" && error.status === 400)
  );
}

/**
 * Returns true if the manager may have carried out a failed call: after time-outs, broken connections, 3xx, 5xx, 408 and unusable 2xx;
 * not if no connection was made, and not after a clear refusal. True for any error of other origin, such as the reason of
 * an abort. After `createBackup` and `createRestore` look for the result before you repeat the call: `findLostBackup`.
 */
export function mayHaveHappened(error: unknown): boolean {
  if (error instanceof BackupManagerTransportError)
    return error.code !== "Unreachable" && error.code !== "Tls";
  if (error instanceof BackupManagerError)
    return error.status < 400 || error.status >= 500 || error.status === 408;
  return !(error instanceof BackupManagerConfigError || error instanceof RangeError);
}
