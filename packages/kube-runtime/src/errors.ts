/** Errors by which a reconcile says when it should be tried again. */

/** The reconcile failed in a way that trying again cannot mend; the next change of the object tries anew. */
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
