/** Defines the errors that end a command, worded for the person who typed it. */
import { printable } from "@klutch/api";
import { isUnauthorized, KubeconfigError, TransportError } from "@klutch/kube";

/** Kind of failure, for tests and for scripts that embed the CLI. */
export type CliErrorCode =
  | "Usage"
  | "ProviderUnreachable"
  | "NotAProvider"
  | "ProviderVersion"
  | "Login"
  | "Kubeconfig"
  | "Manifest"
  | "ExportFailed"
  | "Timeout"
  | "PermissionRejected"
  | "Conflict"
  | "Cancelled";

/** Ends messages about what was refused before anything was written there. */
export const nothingChanged = "Nothing was changed in this cluster.";

/** Ends the command with exit code 1. The message says what happened, to what, and what to do. */
export class CliError extends Error {
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "CliError";
    this.code = code;
  }
}

/** Words any error in one line. Never shows a stack; with `KLUTCH_DEBUG` program.ts prints one. */
export function errorText(error: unknown): string {
  // Parts of it come from servers, and even our own sentences quote them.
  return printable(messageOf(error), maxErrorLength);
}

const maxErrorLength = 4000;

function messageOf(error: unknown): string {
  if (error instanceof KubeconfigError && error.code === "NotFound") {
    return `${error.message}. Pass --kubeconfig or set KUBECONFIG to the kubeconfig of the app cluster.`;
  }
  if (isUnauthorized(error)) {
    return `${error.message}. The cluster does not accept these credentials; check --context, --user and --token.`;
  }
  if (error instanceof TransportError && error.code === "Tls") {
    return `${error.message}. The cluster's certificate cannot be verified.`;
  }
  return error instanceof Error ? error.message : String(error);
}
