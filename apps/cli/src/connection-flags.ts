/** The flags of every command that connects to a cluster, named as kubectl's. */
import type { Command } from "commander";

/** Lists each flag with its meaning and its default, if it has one. */
export const connectionFlags: readonly (readonly [flags: string, text: string, fallback?: string])[] = [
  [
    "--kubeconfig <path>",
    "path to the kubeconfig of the app cluster (default: KUBECONFIG, then ~/.kube/config)",
  ],
  ["--context <name>", "kubeconfig context to use"],
  ["--cluster <name>", "kubeconfig cluster to use"],
  ["--user <name>", "kubeconfig user to use"],
  [
    "-n, --namespace <name>",
    "accepted for compatibility with kubectl, without effect: Klutch's objects are in klutch-bind",
  ],
  ["-s, --server <url>", "URL of the API server"],
  ["--token <token>", "bearer token for authentication to the API server"],
  ["--as <user>", "user to impersonate"],
  ["--as-group <group...>", "groups to impersonate; can be repeated"],
  ["--as-uid <uid>", "UID to impersonate"],
  ["--certificate-authority <path>", "path to the CA certificate of the API server"],
  ["--client-certificate <path>", "path to the client certificate"],
  ["--client-key <path>", "path to the client key"],
  ["--insecure-skip-tls-verify", "skip verification of the API server's certificate (insecure)"],
  ["--tls-server-name <name>", "server name to verify the API server's certificate against"],
  ["--request-timeout <duration>", "maximum time for a single request; 0 means no limit", "0"],
];

/** Adds them after the command's own. */
export function addConnectionFlags(command: Command): void {
  for (const [flags, text, fallback] of connectionFlags) command.option(flags, text, fallback);
}
