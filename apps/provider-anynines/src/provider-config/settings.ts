/**
 * Reads the credentials and TLS settings that a ProviderConfig names.
 *
 * Secrets are read from the API server and not from an informer: that would hold the Secrets of the whole cluster in memory, and needs
 * the right to list them. A Secret that is named several times is read once.
 */
import { readFile } from "node:fs/promises";
import type { CredentialSource, ProviderConfig, ProviderConfigContext, SecretKeySelector } from "@klutch/api";
import { ExternalError } from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, secrets, valueAt } from "@klutch/kube-core";
import type { BrokerConfig } from "@klutch/osb";

/** Sources of the settings. */
export interface CredentialContext {
  readonly client: KubeClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** Everything that a ProviderConfig says about its backend. */
export interface BackendSettings extends BrokerConfig {
  readonly context: ProviderConfigContext | undefined;
}

interface SecretRef {
  readonly namespace: string;
  readonly name: string;
}

interface Sources {
  readonly secret: (ref: SecretRef) => Promise<DynamicObject | undefined>;
  /** Namespace of the ProviderConfig, if it is namespaced: it then reaches only the Secrets beside it. */
  readonly namespace: string | undefined;
  readonly env: CredentialContext["env"];
}

/** The broker's address, credentials and TLS settings. Throws `ExternalError` that names the missing setting, never its value. */
export async function brokerConfigOf(
  config: ProviderConfig,
  { client, env, signal }: CredentialContext,
): Promise<BackendSettings> {
  const { namespace } = config.metadata;
  const sources: Sources = { secret: secretReader(client, signal), env, namespace };
  const { url, providerCredentials: credentials, tls, context } = config.spec;
  if (context?.kind === "Namespace" && !context.clusterID) {
    throw new ExternalError(
      "spec.context.clusterID is missing; with the kind Namespace it must name this control plane at the broker, " +
        "such as the UID of its namespace kube-system",
    );
  }
  const auth =
    credentials.source === "None"
      ? undefined
      : {
          kind: "basic" as const,
          username: await credentialOf(credentials.source, credentials.username, "username", sources),
          password: await credentialOf(credentials.source, credentials.password, "password", sources),
        };
  if (tls?.insecureSkipVerify === true && tls.caBundleSecretRef !== undefined) {
    throw new ExternalError(
      "spec.tls: caBundleSecretRef and insecureSkipVerify exclude each other; remove one of them",
    );
  }
  const ca =
    tls?.caBundleSecretRef === undefined
      ? undefined
      : await secretValue(tls.caBundleSecretRef, "spec.tls.caBundleSecretRef", sources);
  return {
    url,
    auth,
    context,
    tls: { ca, serverName: tls?.overrideServerName, insecureSkipVerify: tls?.insecureSkipVerify },
  };
}

async function credentialOf(
  source: string,
  from: CredentialSource,
  name: string,
  sources: Sources,
): Promise<string> {
  const field = `spec.providerCredentials.${name}`;
  if (source === "Secret" && from.secretRef !== undefined)
    return (await secretValue(from.secretRef, `${field}.secretRef`, sources)).trim();
  if (sources.namespace !== undefined) {
    throw new ExternalError(
      `${field} needs a secretRef, and source must be Secret or None: a namespaced ProviderConfig reads nothing else of the provider`,
    );
  }
  if (source === "Environment" && from.env !== undefined) {
    const value = sources.env[from.env.name];
    if (value === undefined)
      throw new ExternalError(`${field}: the environment variable ${from.env.name} is not set`);
    return value.trim();
  }
  if (source === "Filesystem" && from.fs !== undefined) {
    try {
      return (await readFile(from.fs.path, "utf8")).trim();
    } catch (cause) {
      throw new ExternalError(`${field}: the file ${from.fs.path} cannot be read`, { cause });
    }
  }
  throw new ExternalError(`${field} has no entry for the source ${source}, or the source is not supported`);
}

/** Reads each Secret once. */
function secretReader(client: KubeClient, signal: AbortSignal): Sources["secret"] {
  const found = new Map<string, Promise<DynamicObject | undefined>>();
  return (ref) => {
    const key = `${ref.namespace}/${ref.name}`;
    const secret = found.get(key) ?? client.find<DynamicObject>(secrets, ref, { signal });
    found.set(key, secret);
    return secret;
  };
}

async function secretValue(selector: SecretKeySelector, field: string, sources: Sources): Promise<string> {
  const { name, key } = selector;
  const ref = { namespace: namespaceOf(selector, field, sources.namespace), name };
  const secret = await sources.secret(ref);
  if (secret === undefined) {
    throw new ExternalError(
      `cannot get credentials secret: secrets "${ref.name}" not found in ${ref.namespace}`,
    );
  }
  const value = valueAt(secret, "data", key);
  if (typeof value !== "string")
    throw new ExternalError(`secret ${ref.namespace}/${ref.name} has no key ${JSON.stringify(key)}`);
  return Buffer.from(value, "base64").toString("utf8");
}

/** Rejects references to other namespaces: whatever a ProviderConfig may read, its backend learns. */
function namespaceOf({ namespace }: SecretKeySelector, field: string, own: string | undefined): string {
  if (own === undefined) {
    if (namespace !== undefined) return namespace;
    throw new ExternalError(`${field}.namespace is missing; it must be the namespace of the Secret`);
  }
  if (namespace === undefined || namespace === own) return own;
  throw new ExternalError(
    `${field}.namespace is ${JSON.stringify(namespace)}, but a ProviderConfig of the namespace ${own} may name Secrets of ${own} only; ` +
      `put the Secret there, or let an operator make a ClusterProviderConfig`,
  );
}
