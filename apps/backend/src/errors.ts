/** Error for a person, shown on a page with its status. Never carries a credential. */
export class UserError extends Error {
  readonly code = "User";
  readonly status: 400 | 401 | 403 | 404 | 409 | 429 | 502 | 503;
  /** Next step for the person. */
  readonly advice: string;
  /** True if the same request may succeed in a while, though its status does not say so. */
  readonly passes: boolean;

  constructor(
    status: UserError["status"],
    message: string,
    advice: string,
    options?: { readonly cause?: unknown; readonly passes?: boolean },
  ) {
    super(message, options);
    this.name = "UserError";
    this.status = status;
    this.advice = advice;
    this.passes = options?.passes ?? false;
  }
}
