/** Explains why a kubeconfig cannot be used. */
export type KubeconfigErrorCode = "NotFound" | "Invalid" | "Refused" | "NotInCluster";

/** A kubeconfig that is missing, malformed, or holds something that is refused. Never carries a credential. */
export class KubeconfigError extends Error {
  readonly code: KubeconfigErrorCode;
  /** Path of the field, such as `users[0].user.exec`. */
  readonly field: string;

  constructor(
    code: KubeconfigErrorCode,
    field: string,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
    this.name = "KubeconfigError";
    this.code = code;
    this.field = field;
  }
}
