/** The flags of every command that connects to a cluster, named as kubectl's. */
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

const all: ReadonlySet<string> = new Set(connectionFlags.map(([flags]) => flags));

/** Returns which of a command's flags are these. A command that does not connect may have flags of its own with the same names. */
export function connectionFlagsIn(options: readonly { readonly flags: string }[]): ReadonlySet<string> {
  const connects = options.some(({ flags }) => flags === connectionFlags[0]?.[0]);
  return connects ? all : new Set();
}
