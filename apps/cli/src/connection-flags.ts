/** The flags of every command that connects to a cluster, named as kubectl's. */
import type { Command } from "commander";

/** What is typed, what it means, and the default where there is one. */
export const connectionFlags: readonly (readonly [flags: string, text: string, fallback?: string])[] = [
  ["--kubeconfig <path>", "kubeconfig of the app cluster (default: KUBECONFIG, ~/.kube/config)"],
  ["--context <name>", "context of the kubeconfig"],
  ["--cluster <name>", "cluster of the kubeconfig"],
  ["--user <name>", "user of the kubeconfig"],
  ["-n, --namespace <name>", "accepted as by kubectl; Klutch's objects are always in klutch-bind"],
  ["-s, --server <url>", "address of the API server"],
  ["--token <token>", "bearer token for the API server"],
  ["--as <user>", "user to impersonate"],
  ["--as-group <group...>", "groups to impersonate"],
  ["--as-uid <uid>", "UID to impersonate"],
  ["--certificate-authority <path>", "certificate authority of the API server"],
  ["--client-certificate <path>", "client certificate"],
  ["--client-key <path>", "key of the client certificate"],
  ["--insecure-skip-tls-verify", "do not verify the API server's certificate"],
  ["--tls-server-name <name>", "name to verify the API server's certificate against"],
  ["--request-timeout <duration>", "longest wait for one answer, 0 for none", "0"],
];

/** Adds them after the command's own. */
export function addConnectionFlags(command: Command): void {
  for (const [flags, text, fallback] of connectionFlags) command.option(flags, text, fallback);
}
