/** Short-lived credentials of an app cluster: a kubeconfig in the Secret that the konnector copies. */
import { binderName, kubeconfigKey, secrets } from "@klutch/api";
import {
  type Clock,
  type ClusterConfig,
  type DynamicObject,
  formatKubeconfig,
  isRecord,
  type KubeClient,
  serviceAccountToken,
} from "@klutch/kube";
import { backendFieldManager } from "../apply.ts";

/** When the token in the Secret ends; RFC 3339. */
export const expiresAnnotation = "klutch.anynines.com/credential-expires-at";

/** What the kubeconfig says of the cluster. */
export type ExternalCluster = Pick<ClusterConfig, "server" | "ca" | "tlsServerName">;

/** Issues and renews. */
export interface CredentialIssuer {
  /** The kubeconfig text, fresh if less than half of its life is left. */
  ensure(
    clusterNamespace: string,
    options: { readonly signal: AbortSignal },
  ): Promise<{ readonly kubeconfig: string; readonly renewInMs: number }>;
}

export function createCredentialIssuer(parts: {
  readonly client: KubeClient;
  readonly external: ExternalCluster;
  readonly lifetimeSeconds: number;
  readonly clock: Clock;
}): CredentialIssuer {
  const { client, external, lifetimeSeconds, clock } = parts;
  return {
    async ensure(namespace, options) {
      const ref = { namespace, name: kubeconfigKey };
      const present = await client.find<DynamicObject>(secrets, ref, options);
      const text = kubeconfigOf(present);
      const leftMs = Date.parse(present?.metadata.annotations?.[expiresAnnotation] ?? "") - clock.now();
      const halfMs = (lifetimeSeconds * 1000) / 2;
      // The address is part of the credential: a moved API server needs a new kubeconfig at once.
      if (text !== undefined && leftMs > halfMs && text.includes(external.server)) {
        return { kubeconfig: text, renewInMs: leftMs - halfMs };
      }
      const { token, expiresAt } = await serviceAccountToken(
        client,
        { namespace, name: binderName },
        { expirationSeconds: lifetimeSeconds, signal: options.signal },
      );
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
    },
  };
}

function kubeconfigOf(secret: DynamicObject | undefined): string | undefined {
  const data = secret?.["data"];
  const value = isRecord(data) ? data[kubeconfigKey] : undefined;
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}
