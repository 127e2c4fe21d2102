/** Defines the errors that end a command, worded for the person who typed it. */
import { printable } from "@klutch/api";
import { isUnauthorized, KubeconfigError, TransportError, type TransportErrorCode } from "@klutch/kube";
import { failureReason } from "./failure-reason.ts";

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
  | "Incomplete"
  | "Conflict"
  | "Cancelled";

/** Name of a client for a control plane that a provider's kubeconfig describes; every other client has the name of a context. */
export const providerName = "provider";

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
  if (error instanceof TransportError && error.cluster !== undefined && silent.has(error.code)) {
    const { name, server } = error.cluster;
    return name === providerName
      ? `The control plane at ${server} does not answer (${failureReason(error.cause)}). Check that this machine reaches it, then run the command again.`
      : `The cluster of context ${name} (${server}) does not answer (${failureReason(error.cause)}). Check that it runs and that this machine reaches it, or choose another cluster with --context or --kubeconfig.`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Failures in which nothing came back from a server. */
const silent: ReadonlySet<TransportErrorCode> = new Set([
  "ConnectionRefused",
  "NotResolved",
  "Timeout",
  "Reset",
]);
