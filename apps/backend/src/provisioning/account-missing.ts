/** Recognises an app cluster whose access an operator revoked. */
import { binderName } from "@klutch/api";

/** The account of an app cluster does not exist, so nothing can be issued for it. */
export class AccountMissingError extends Error {
  readonly code = "AccountMissing";

  constructor(namespace: string, options?: { readonly cause?: unknown }) {
    super(
      `ServiceAccount ${namespace}/${binderName} does not exist, so the access of this app cluster is revoked. To restore it, run kubectl bind in that cluster`,
      options,
    );
    this.name = "AccountMissingError";
  }
}
