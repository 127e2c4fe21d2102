/** Error for a person, shown on a page with its status. Never carries a credential. */
export class UserError extends Error {
  readonly code = "User";
  readonly status: 400 | 401 | 403 | 404 | 409 | 429 | 502 | 503;
  /** Next step for the person. */
  readonly advice: string;

  constructor(
    status: UserError["status"],
    message: string,
    advice: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
    this.name = "UserError";
    this.status = status;
    this.advice = advice;
  }
}
