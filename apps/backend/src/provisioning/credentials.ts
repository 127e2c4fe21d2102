/** Short-lived credentials of an app cluster: a kubeconfig in the Secret that the konnector copies. */
import { binderName, kubeconfigKey } from "@klutch/api";
import { type DynamicObject, type KubeObject, secrets, secretText, serviceAccounts } from "@klutch/kube-core";
import {
  type Clock,
  type ClusterConfig,
  formatKubeconfig,
  isNotFound,
  type KubeClient,
  type ServiceAccountToken,
  serviceAccountToken,
} from "@klutch/kube";
import type { Informer } from "@klutch/kube-runtime";
import type { Secret } from "@klutch/telemetry";
import { backendFieldManager } from "../apply.ts";
import { AccountMissingError } from "./account-missing.ts";
import { lastingToken } from "./lasting-token.ts";

/** Annotation on the Secret: expiry of its token; RFC 3339. */
export const expiresAnnotation = "klutch.anynines.com/credential-expires-at";

/** Interval between checks of a credential that does not expire. */
const lastingRecheckMs = 3_600_000;

/** Connection details of the cluster in the kubeconfig. */
export type ExternalCluster = Pick<ClusterConfig, "server" | "ca" | "tlsServerName">;

/** Issues and renews. Both throw `AccountMissingError` instead of making the account again. */
export interface CredentialIssuer {
  /** A new token, whatever is in the Secret: what was handed out before may have been revoked or replaced. */
  issue(clusterNamespace: string, options: { readonly signal: AbortSignal }): Promise<IssuedCredential>;
  /** Keeps the Secret fresh: returns its token, or a new one if less than half of its life is left. */
  ensure(clusterNamespace: string, options: { readonly signal: AbortSignal }): Promise<IssuedCredential>;
}

/** A kubeconfig text and when to check again. */
export interface IssuedCredential {
  readonly kubeconfig: string;
  readonly renewInMs: number;
  /** Milliseconds since the epoch; undefined of one that does not end. */
  readonly endsAt?: number | undefined;
}

export function createCredentialIssuer(parts: {
  readonly client: KubeClient;
  readonly external: ExternalCluster;
  /** Lifetime of tokens; undefined means that they do not expire. */
  readonly lifetimeSeconds: number | undefined;
  readonly clock: Clock;
  /** Accounts of app clusters. Without them `ensure` notices a deleted account when it renews, not before. */
  readonly accounts?: Pick<Informer<KubeObject>, "get"> | undefined;
}): CredentialIssuer {
  const { client, external, lifetimeSeconds, clock, accounts } = parts;
  const kubeconfigFor = (namespace: string, token: Secret<string>): string =>
    formatKubeconfig({ ...external, name: "default", namespace, auth: { kind: "token", token } });
  const write = async (
    namespace: string,
    kubeconfig: string,
    expiresAt: number | undefined,
    signal: AbortSignal,
  ): Promise<void> => {
    const annotations =
      expiresAt === undefined ? {} : { [expiresAnnotation]: new Date(expiresAt).toISOString() };
    const secret: DynamicObject = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace, name: kubeconfigKey, annotations },
      data: { [kubeconfigKey]: Buffer.from(kubeconfig).toString("base64") },
    };
    await client.apply(secrets, secret, { signal, fieldManager: backendFieldManager, force: true });
  };
  const present = async (namespace: string, signal: AbortSignal): Promise<DynamicObject | undefined> =>
    client.find<DynamicObject>(secrets, { namespace, name: kubeconfigKey }, { signal });
  if (lifetimeSeconds === undefined) {
    const lasting: CredentialIssuer["issue"] = async (namespace, { signal }) => {
      const kubeconfig = kubeconfigFor(namespace, await lastingToken(client, namespace, clock, signal));
      const secret = await present(namespace, signal);
      const expires = secret?.metadata.annotations?.[expiresAnnotation];
      if (secretText(secret, kubeconfigKey) !== kubeconfig || expires !== undefined) {
        await write(namespace, kubeconfig, undefined, signal);
      }
      return { kubeconfig, renewInMs: lastingRecheckMs };
    };
    return { issue: lasting, ensure: lasting };
  }
  const halfMs = (lifetimeSeconds * 1000) / 2;
  const issue: CredentialIssuer["issue"] = async (namespace, { signal }) => {
    const { token, expiresAt } = await tokenOf(namespace, lifetimeSeconds, signal);
    const kubeconfig = kubeconfigFor(namespace, token);
    await write(namespace, kubeconfig, expiresAt, signal);
    return { kubeconfig, renewInMs: Math.max(60_000, expiresAt - clock.now() - halfMs), endsAt: expiresAt };
  };
  const tokenOf = async (
    namespace: string,
    expirationSeconds: number,
    signal: AbortSignal,
  ): Promise<ServiceAccountToken> => {
    try {
      return await serviceAccountToken(
        client,
        { namespace, name: binderName },
        { expirationSeconds, signal },
      );
    } catch (cause) {
      throw isNotFound(cause) ? new AccountMissingError(namespace, { cause }) : cause;
    }
  };
  /** The cache decides that an account exists; a new one may not be in it yet. */
  const checkAccount = async (namespace: string, signal: AbortSignal): Promise<void> => {
    if (accounts === undefined || accounts.get(`${namespace}/${binderName}`) !== undefined) return;
    const live = await client.find(serviceAccounts, { namespace, name: binderName }, { signal });
    if (live === undefined) throw new AccountMissingError(namespace);
  };
  return {
    issue,
    async ensure(namespace, options) {
      await checkAccount(namespace, options.signal);
      const secret = await present(namespace, options.signal);
      const text = secretText(secret, kubeconfigKey);
      const endsAt = Date.parse(secret?.metadata.annotations?.[expiresAnnotation] ?? "");
      const leftMs = endsAt - clock.now();
      // The address is part of the credential: a moved API server needs a new kubeconfig at once.
      return text !== undefined && leftMs > halfMs && text.includes(external.server)
        ? { kubeconfig: text, renewInMs: leftMs - halfMs, endsAt }
        : issue(namespace, options);
    },
  };
}
