/** Short-lived credentials of an app cluster: a kubeconfig in the Secret that the konnector copies. */
import { binderName, kubeconfigKey, secrets } from "@klutch/api";
import {
  type Clock,
  type ClusterConfig,
  type DynamicObject,
  formatKubeconfig,
  isNotFound,
  isRecord,
  type KubeClient,
  type ServiceAccountToken,
  serviceAccountToken,
} from "@klutch/kube";
import { backendFieldManager } from "../apply.ts";

/** When the token in the Secret ends; RFC 3339. */
export const expiresAnnotation = "klutch.anynines.com/credential-expires-at";

/** What the kubeconfig says of the cluster. */
export type ExternalCluster = Pick<ClusterConfig, "server" | "ca" | "tlsServerName">;

/** The account of an app cluster does not exist, so nothing can be issued for it. */
export class AccountMissingError extends Error {
  readonly code = "AccountMissing";

  constructor(namespace: string, options?: { readonly cause?: unknown }) {
    super(
      `ServiceAccount ${namespace}/${binderName} does not exist: the access of this app cluster was revoked. kubectl bind from that cluster makes it again`,
      options,
    );
    this.name = "AccountMissingError";
  }
}

/** Issues and renews. Both throw `AccountMissingError` instead of making the account again. */
export interface CredentialIssuer {
  /** A new token, whatever is in the Secret: what was handed out before may have been revoked or replaced. */
  issue(clusterNamespace: string, options: { readonly signal: AbortSignal }): Promise<IssuedCredential>;
  /** Keeps the Secret fresh: what is in it, or a new token when less than half of its life is left. */
  ensure(clusterNamespace: string, options: { readonly signal: AbortSignal }): Promise<IssuedCredential>;
}

/** A kubeconfig text and when to look again. */
export interface IssuedCredential {
  readonly kubeconfig: string;
  readonly renewInMs: number;
}

export function createCredentialIssuer(parts: {
  readonly client: KubeClient;
  readonly external: ExternalCluster;
  readonly lifetimeSeconds: number;
  readonly clock: Clock;
}): CredentialIssuer {
  const { client, external, lifetimeSeconds, clock } = parts;
  const halfMs = (lifetimeSeconds * 1000) / 2;
  const issue: CredentialIssuer["issue"] = async (namespace, options) => {
    const ref = { namespace, name: kubeconfigKey };
    const { token, expiresAt } = await tokenOf(namespace, options.signal);
    const kubeconfig = formatKubeconfig({
      ...external,
      name: "default",
      namespace,
      auth: { kind: "token", token },
    });
    const secret: DynamicObject = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...ref, annotations: { [expiresAnnotation]: new Date(expiresAt).toISOString() } },
      data: { [kubeconfigKey]: Buffer.from(kubeconfig).toString("base64") },
    };
    await client.apply(secrets, secret, { ...options, fieldManager: backendFieldManager, force: true });
    return { kubeconfig, renewInMs: Math.max(60_000, expiresAt - clock.now() - halfMs) };
  };
  const tokenOf = async (namespace: string, signal: AbortSignal): Promise<ServiceAccountToken> => {
    const account = { namespace, name: binderName };
    try {
      return await serviceAccountToken(client, account, { expirationSeconds: lifetimeSeconds, signal });
    } catch (cause) {
      throw isNotFound(cause) ? new AccountMissingError(namespace, { cause }) : cause;
    }
  };
  return {
    issue,
    async ensure(namespace, options) {
      const ref = { namespace, name: kubeconfigKey };
      const present = await client.find<DynamicObject>(secrets, ref, options);
      const text = kubeconfigOf(present);
      const leftMs = Date.parse(present?.metadata.annotations?.[expiresAnnotation] ?? "") - clock.now();
      // The address is part of the credential: a moved API server needs a new kubeconfig at once.
      return text !== undefined && leftMs > halfMs && text.includes(external.server)
        ? { kubeconfig: text, renewInMs: leftMs - halfMs }
        : issue(namespace, options);
    },
  };
}

function kubeconfigOf(secret: DynamicObject | undefined): string | undefined {
  const data = secret?.["data"];
  const value = isRecord(data) ? data[kubeconfigKey] : undefined;
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}
