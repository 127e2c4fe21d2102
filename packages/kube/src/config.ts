/** Configuration of a client for one cluster, and its in-cluster source. */
import { readFile } from "node:fs/promises";
import type { Secret } from "@klutch/telemetry";
import { processEnvironment } from "./environment.ts";
import { KubeconfigError } from "./kubeconfig-errors.ts";

/** Ways in which requests prove their identity. */
export type ClusterAuth =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: Secret<string> }
  /** Read again when it is older than a minute, so that a rotated token is picked up. */
  | { readonly kind: "tokenFile"; readonly path: string }
  /** PEM. */
  | { readonly kind: "clientCertificate"; readonly cert: string; readonly key: Secret<string> }
  | { readonly kind: "basic"; readonly username: string; readonly password: Secret<string> }
  /** A client-go credential plugin (client.authentication.k8s.io/v1 and v1beta1). */
  | {
      readonly kind: "exec";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly apiVersion: string;
    };

/** Acting as somebody else, for which the credential's owner needs the right to impersonate. */
export interface Impersonation {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid?: string | undefined;
}

/** One cluster as one user sees it. */
export interface ClusterConfig {
  /** For messages: a context name, "consumer", "provider". */
  readonly name: string;
  /** Base URL, `https://host:port`. */
  readonly server: string;
  /** PEM of the certificate authority; the system's when absent. */
  readonly ca?: string | undefined;
  /** Default false. */
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly tlsServerName?: string | undefined;
  /** Default namespace of the context. */
  readonly namespace?: string | undefined;
  readonly auth: ClusterAuth;
  readonly impersonate?: Impersonation | undefined;
  /** Default true; false for proxies that cannot speak HTTP/2. */
  readonly http2?: boolean | undefined;
}

/** Directory in which Kubernetes mounts a pod's service account. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The configuration of a pod's own service account. The token file is read again while the client runs.
 * Throws `KubeconfigError` outside of a cluster.
 */
export async function inClusterConfig(
  env: Readonly<Record<string, string | undefined>> = processEnvironment(),
  folder: string = serviceAccountFolder,
): Promise<ClusterConfig> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (host === undefined || port === undefined) {
    throw new KubeconfigError(
      "NotInCluster",
      "KUBERNETES_SERVICE_HOST",
      "not running in a cluster (KUBERNETES_SERVICE_HOST and _PORT are not set); pass --kubeconfig or set KUBECONFIG",
    );
  }
  const [ca, namespace] = await Promise.all([
    readFile(`${folder}/ca.crt`, "utf8"),
    readFile(`${folder}/namespace`, "utf8").catch(() => undefined),
  ]);
  return {
    name: "in-cluster",
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca,
    namespace: namespace?.trim(),
    auth: { kind: "tokenFile", path: `${folder}/token` },
  };
}
