/** Errors of a reconcile, and of what it reads. */

/** A server shows more objects than a cache may hold, and those that came first are held; or one that no cache may hold. */
export class TooManyObjectsError extends Error {
  readonly code = "TooManyObjects";

  /** `message` says which objects are left out, and why. */
  constructor(message: string) {
    super(message);
    this.name = "TooManyObjectsError";
  }
}

/** The reconcile failed in a way that trying again cannot fix; the next change of the object tries again. */
export class TerminalError extends Error {
  readonly code = "Terminal";

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "TerminalError";
  }
}

/** The reconcile failed, and trying again before `retryAfterMs` is of no use. The wait grows with each failure all the same. */
export class DelayedRetryError extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options?: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined },
  ) {
    super(message, options);
    this.name = "DelayedRetryError";
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** A server of this process could not begin to listen. */
export class ListenError extends Error {
  readonly code = "Listen";

  /** `what`: such as `the probes`. */
  constructor(
    what: string,
    address: { readonly host?: string | undefined; readonly port: number },
    cause: unknown,
  ) {
    super(`${what} cannot listen on ${address.host ?? ""}:${address.port}: ${reasonOf(cause)}`, { cause });
    this.name = "ListenError";
  }
}

function reasonOf(cause: unknown): string {
  const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
  if (isTaken) return "another program uses this port. Stop it, or choose another port.";
  return cause instanceof Error ? cause.message : String(cause);
}

/** An answer proved a cache to be behind; trying again sees the newer state. */
export class StaleCacheError extends Error {
  readonly code = "StaleCache";

  constructor(what: string) {
    super(`the cache does not show ${what} yet; trying again`);
    this.name = "StaleCacheError";
  }
}
