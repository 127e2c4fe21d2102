/** Credentials of another cluster: whether one works, which of two is newer, and the words for a refusal. */
import { type DynamicObject, namespaces } from "@klutch/kube-core";
import { ApiError, type ClusterConfig, failureOutline, isUnauthorized, type KubeClient } from "@klutch/kube";

/** A credential in use, in words for people. */
export interface CredentialUse {
  /** The cluster that judges it: `the provider` or `the app cluster`. */
  readonly cluster: "the provider" | "the app cluster";
  readonly server: string;
  /** The object that holds it, such as `Secret klutch-bind/kubeconfig-ab12`. */
  readonly holder: string;
  /** Advice for a person when it is refused; a sentence. */
  readonly advice: string;
}

/**
 * Says which cluster failed, and for a refusal whose credential it was and what to do. Begins in lower case, ends without a dot. A provider's
 * message is quoted in the app cluster. An app cluster's is not: the reader is the tenant, whose kubeconfig chose where this agent looks.
 */
export function failureText({ cluster, server, holder, advice }: CredentialUse, error: unknown): string {
  const isOurs = cluster === "the provider" && error instanceof Error;
  const said = isOurs ? error.message : failureOutline(error);
  if (isUnauthorized(error)) {
    return `${cluster} at ${server} refused the credential of ${holder} (401): it was revoked or has expired. ${advice}`;
  }
  return error instanceof ApiError
    ? `${cluster} at ${server} answered ${error.status}: ${said}`
    : `${cluster} at ${server} cannot be used: ${said}`;
}

/**
 * Tries a kubeconfig with one request: reads its namespace and gives back the UID. Throws what the server answered. The client is
 * closed afterwards.
 */
export async function proveCredential(
  createClient: (config: ClusterConfig) => KubeClient,
  config: ClusterConfig,
  signal: AbortSignal,
): Promise<string> {
  await using client = createClient(config);
  const own = await client.get<DynamicObject>(namespaces, { name: config.namespace ?? "" }, { signal });
  return own.metadata.uid ?? "";
}
