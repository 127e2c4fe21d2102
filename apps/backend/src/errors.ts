/** Error for a person, shown on a page with its status. Never carries a credential. */
export class UserError extends Error {
  readonly code = "User";
  readonly status: 400 | 401 | 403 | 404 | 409 | 429 | 502 | 503;
  /** Next step for the person. */
  readonly advice: string;
  /** One word for records. Default: one that follows from the status. */
  readonly outcome: string;
  /** True if the same request may succeed in a while, though its status does not say so. */
  readonly passes: boolean;

  constructor(
    status: UserError["status"],
    message: string,
    advice: string,
    options: {
      readonly cause?: unknown;
      readonly outcome?: string | undefined;
      readonly passes?: boolean | undefined;
    } = {},
  ) {
    super(message, options);
    this.name = "UserError";
    this.status = status;
    this.advice = advice;
    this.outcome = options.outcome ?? outcomes[status];
    this.passes = options.passes ?? false;
  }
}

const outcomes: Readonly<Record<UserError["status"], string>> = {
  400: "BadRequest",
  401: "LoginNotValid",
  403: "NotAllowed",
  404: "NotFound",
  409: "Conflict",
  429: "TooMany",
  502: "Unavailable",
  503: "Unavailable",
};
