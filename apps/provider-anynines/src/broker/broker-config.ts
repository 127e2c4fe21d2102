/** Reads the credentials and TLS settings that a ProviderConfig names. */
import { readFile } from "node:fs/promises";
import { type CredentialSource, type ProviderConfig, type SecretKeySelector } from "@klutch/api";
import { type DynamicObject, isRecord, secrets } from "@klutch/kube-core";
import { ExternalError } from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import type { BrokerConfig } from "@klutch/osb";

/** What is read from, and how. */
export interface CredentialContext {
  readonly client: KubeClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** The broker's address, credentials and TLS settings. Throws `ExternalError` that names what is missing, never its value. */
export async function brokerConfigOf(
  config: ProviderConfig,
  context: CredentialContext,
): Promise<BrokerConfig> {
  const { url, providerCredentials: credentials, tls } = config.spec;
  const auth =
    credentials.source === "None"
      ? undefined
      : {
          kind: "basic" as const,
          username: await credentialOf(credentials.source, credentials.username, "username", context),
          password: await credentialOf(credentials.source, credentials.password, "password", context),
        };
  if (tls?.insecureSkipVerify === true && tls.caBundleSecretRef !== undefined) {
    throw new ExternalError(
      "spec.tls: caBundleSecretRef and insecureSkipVerify exclude each other; remove one of them",
    );
  }
  const ca =
    tls?.caBundleSecretRef === undefined ? undefined : await secretValue(tls.caBundleSecretRef, context);
  return {
    url,
    auth,
    tls: { ca, serverName: tls?.overrideServerName, insecureSkipVerify: tls?.insecureSkipVerify },
  };
}

async function credentialOf(
  source: string,
  from: CredentialSource,
  name: string,
  context: CredentialContext,
): Promise<string> {
  const field = `spec.providerCredentials.${name}`;
  if (source === "Secret" && from.secretRef !== undefined)
    return (await secretValue(from.secretRef, context)).trim();
  if (source === "Environment" && from.env !== undefined) {
    const value = context.env[from.env.name];
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

async function secretValue(ref: SecretKeySelector, context: CredentialContext): Promise<string> {
  const secret = await context.client.find<DynamicObject>(secrets, ref, { signal: context.signal });
  if (secret === undefined) {
    throw new ExternalError(
      `cannot get credentials secret: secrets "${ref.name}" not found in ${ref.namespace}`,
    );
  }
  const data = secret["data"];
  const value = isRecord(data) ? data[ref.key] : undefined;
  if (typeof value !== "string") {
    throw new ExternalError(`secret ${ref.namespace}/${ref.name} has no key ${JSON.stringify(ref.key)}`);
  }
  return Buffer.from(value, "base64").toString("utf8");
}
