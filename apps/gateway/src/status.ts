/** Answers of the gateway itself, in the form of an API server's. */

/** Failure as `metav1.Status`. */
export interface Failure {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** Returns the JSON of a failure. */
export function statusText({ code, reason, message, retryAfterSeconds }: Failure): string {
  return JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
    code,
  });
}

/** Returns the line that ends a watch. */
export function errorLine(failure: Failure): Buffer {
  return Buffer.from(`{"type":"ERROR","object":${statusText(failure)}}\n`);
}

/** Tells a watch to list again. */
export function expired(after: number): Failure {
  return { code: 410, reason: "Expired", message: `too old resource version: ${after}` };
}

export const unauthorized: Failure = { code: 401, reason: "Unauthorized", message: "Unauthorized" };

/** Makes a refusal of a malformed request. */
export function badRequest(message: string): Failure {
  return { code: 400, reason: "BadRequest", message };
}
