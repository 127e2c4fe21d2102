/** Error statuses by name. */

/** Meaning of an error status, independent of the call. */
export type BackupManagerErrorCode =
  /** 400 */
  | "BadRequest"
  /** 401 */
  | "Unauthorized"
  /** 403 */
  | "Forbidden"
  /** 404 */
  | "NotFound"
  /** 409 */
  | "Conflict"
  /** 410 */
  | "Gone"
  /** 422 */
  | "Unprocessable"
  /** 423 */
  | "Locked"
  /** 429 */
  | "TooManyRequests"
  /** 3xx; never followed. */
  | "Redirect"
  /** 5xx */
  | "ServerError"
  /** Any other. */
  | "UnexpectedStatus";

const names: Readonly<Record<number, BackupManagerErrorCode>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  422: "Unprocessable",
  423: "Locked",
  429: "TooManyRequests",
};

/** The code of a status other than 2xx. */
export function errorCodeOf(status: number): BackupManagerErrorCode {
  const name = names[status];
  if (name !== undefined) return name;
  if (status >= 300 && status < 400) return "Redirect";
  return status >= 500 ? "ServerError" : "UnexpectedStatus";
}
