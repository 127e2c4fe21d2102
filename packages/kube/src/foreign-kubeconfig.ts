/**
 * Kubeconfigs that came over the network or from a Secret. Their author must not be able to run programs, read files,
 * impersonate, or route our traffic through a proxy, so only a closed set of fields is taken and the rest refused.
 */
import { textAt } from "@klutch/kube-core";
import { Secret } from "@klutch/telemetry";
import type { ClusterAuth, ClusterConfig } from "./config.ts";
import { type Entry, entryOf, readParts } from "./kubeconfig.ts";
import { KubeconfigError } from "./kubeconfig-errors.ts";

const clusterFields = new Set([
  "server",
  "certificate-authority-data",
  "tls-server-name",
  "insecure-skip-tls-verify",
  "extensions",
  "disable-compression",
]);
const userFields = new Set(["token", "client-certificate-data", "client-key-data", "extensions"]);

const reasons: Readonly<Record<string, string>> = {
  exec: "it would run a program",
  "auth-provider": "it would run a plugin",
  tokenFile: "it would read a local file",
  "client-certificate": "it would read a local file",
  "client-key": "it would read a local file",
  "certificate-authority": "it would read a local file",
  "proxy-url": "it would route requests through a foreign proxy",
  "insecure-skip-tls-verify": "it would turn off server verification",
};

/**
 * Reduces a foreign kubeconfig to server, CA, server name, namespace and an inline credential. Throws `KubeconfigError` with
 * code `Refused` and the field for anything else, and `Invalid` when the current context or its namespace is missing.
 */
export function parseForeignKubeconfig(
  text: string,
  options: {
    /** Takes the place of the context's namespace. */
    readonly namespace?: string | undefined;
  } = {},
): ClusterConfig {
  const parts = readParts(text, ".");
  const contextName = parts.currentContext;
  if (contextName === undefined) {
    throw new KubeconfigError("Invalid", "current-context", "the kubeconfig names no current-context");
  }
  const context = entryOf(parts.contexts, contextName, "context");
  const cluster = entryOf(parts.clusters, textAt(context.value, "cluster") ?? "", "cluster");
  const user = entryOf(parts.users, textAt(context.value, "user") ?? "", "user");
  refuseUnknown(cluster, clusterFields);
  refuseUnknown(user, userFields);
  if (cluster.value["insecure-skip-tls-verify"] === true) refuse(cluster, "insecure-skip-tls-verify");
  const namespace = options.namespace ?? textAt(context.value, "namespace");
  if (namespace === undefined) {
    throw new KubeconfigError(
      "Invalid",
      `${context.field}.namespace`,
      `${context.field}.namespace is missing`,
    );
  }
  const ca = textAt(cluster.value, "certificate-authority-data");
  return {
    name: contextName,
    server: serverOf(cluster),
    ca: ca === undefined ? undefined : Buffer.from(ca, "base64").toString("utf8"),
    tlsServerName: textAt(cluster.value, "tls-server-name"),
    namespace,
    auth: inlineAuth(user),
  };
}

function serverOf(cluster: Entry): string {
  const server = textAt(cluster.value, "server");
  const field = `${cluster.field}.server`;
  if (server === undefined || !URL.canParse(server)) {
    throw new KubeconfigError("Invalid", field, `${field} is missing or not a URL`);
  }
  const { protocol, search, hash, username, password } = new URL(server);
  const refuse = (why: string): KubeconfigError =>
    new KubeconfigError("Refused", field, `${field} is refused: ${why}`);
  if (protocol !== "https:") throw refuse("credentials travel only over https");
  if (username + password !== "") throw refuse("it would send a user and a password");
  // The path of each request is appended: after a "?" or "#" the whole address would be the other side's choice.
  if (search + hash !== "" || /[?#]/.test(server)) throw refuse("it has a query or a fragment");
  return server.replace(/\/$/, "");
}

function inlineAuth(user: Entry): ClusterAuth {
  const token = textAt(user.value, "token");
  if (token !== undefined) return { kind: "token", token: new Secret(token) };
  const cert = textAt(user.value, "client-certificate-data");
  const key = textAt(user.value, "client-key-data");
  if (cert !== undefined && key !== undefined) {
    const decode = (data: string): string => Buffer.from(data, "base64").toString("utf8");
    return { kind: "clientCertificate", cert: decode(cert), key: new Secret(decode(key)) };
  }
  throw new KubeconfigError(
    "Invalid",
    user.field,
    `${user.field} must hold a token, or client-certificate-data with client-key-data`,
  );
}

function refuseUnknown(entry: Entry, allowed: ReadonlySet<string>): void {
  for (const field of Object.keys(entry.value)) if (!allowed.has(field)) refuse(entry, field);
}

function refuse(entry: Entry, field: string): never {
  const path = `${entry.field}.${field}`;
  throw new KubeconfigError(
    "Refused",
    path,
    `${path} is refused: ${reasons[field] ?? "this field is not allowed here"}`,
  );
}
