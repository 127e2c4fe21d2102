/** The two clusters of a command. They have different types, so that one cannot be passed for the other. */
import { readFile } from "node:fs/promises";
import { clusterIdentityNamespace, consumerNamespace, kubeconfigKey } from "@klutch/api";
import { type DynamicObject, namespaces, type ObjectRef, secrets, secretText } from "@klutch/kube-core";
import {
  type ClusterConfig,
  createKubeClient,
  isForbidden,
  KubeconfigError,
  type KubeClient,
  loadKubeconfig,
  parseForeignKubeconfig,
} from "@klutch/kube";
import { CliError, providerName } from "./errors.ts";
import type { BindApiServiceOptions, CommonOptions } from "./options.ts";

/** The app cluster. */
export interface Consumer extends AsyncDisposable {
  readonly side: "consumer";
  /** Name of its context in the person's kubeconfig. */
  readonly name: string;
  /** Names it for people: `context prod-eu, https://…`. */
  readonly place: string;
  readonly client: KubeClient;
}

/** The control plane cluster, as the tenant that this app cluster is there. */
export interface Provider extends AsyncDisposable {
  readonly side: "provider";
  readonly client: KubeClient;
  readonly config: ClusterConfig;
  /** The cluster namespace. */
  readonly namespace: string;
  /** Origin of the backend that the person logged in to; undefined without a login. */
  readonly backendOrigin?: string | undefined;
}

/** Field manager of what the plugin writes. */
export const pluginManager = "kubectl-bind";
const userAgent = "kubectl-bind";

/** Connects with the person's kubeconfig and flags. Sends nothing yet. */
export async function connectConsumer(
  options: Pick<CommonOptions, "connection" | "requestTimeoutMs">,
): Promise<Consumer> {
  const config = await loadKubeconfig(options.connection);
  return consumerOf(
    config,
    createKubeClient(config, { userAgent, requestTimeoutMs: options.requestTimeoutMs }),
  );
}

/** Returns the app cluster of a configuration and its client, which ends with it. */
export function consumerOf({ name, server }: ClusterConfig, client: KubeClient): Consumer {
  return {
    side: "consumer",
    name,
    place: `context ${name}, ${server}`,
    client,
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/**
 * Connects with a kubeconfig that the provider made. It is reduced to server, CA, credential and namespace first; one that would
 * run programs, read files or use proxies is refused with the reason. Sends nothing yet.
 */
export function connectProvider(
  text: string,
  origin: string,
  options: {
    readonly namespace?: string | undefined;
    readonly requestTimeoutMs?: number | undefined;
    readonly backendOrigin?: string | undefined;
  },
): Provider {
  const config = reduce(text, origin, options.namespace);
  const client = createKubeClient(
    { ...config, name: providerName },
    { userAgent, requestTimeoutMs: options.requestTimeoutMs },
  );
  return {
    side: "provider",
    client,
    config,
    namespace: config.namespace ?? "",
    backendOrigin: options.backendOrigin,
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

function reduce(text: string, origin: string, namespace: string | undefined): ClusterConfig {
  try {
    return parseForeignKubeconfig(text, { namespace });
  } catch (cause) {
    if (!(cause instanceof KubeconfigError)) throw cause;
    throw new CliError("Kubeconfig", `The kubeconfig from ${origin} cannot be used: ${cause.message}.`, {
      cause,
    });
  }
}

/** The kubeconfig that the flags of `bind apiservice` name, and where it came from. */
export async function remoteKubeconfig(
  consumer: Consumer,
  options: BindApiServiceOptions,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly origin: string }> {
  if (options.remoteKubeconfig !== undefined) {
    const path = options.remoteKubeconfig;
    try {
      return { text: await readFile(path, "utf8"), origin: path };
    } catch (cause) {
      throw new CliError("Kubeconfig", `--remote-kubeconfig ${path} cannot be read.`, { cause });
    }
  }
  const { remoteKubeconfigNamespace: namespace = consumerNamespace, remoteKubeconfigName: name = "" } =
    options;
  return secretKubeconfig(consumer, { namespace, name }, signal);
}

/** The kubeconfig in a Secret of the app cluster, and where it came from. Throws `CliError` Kubeconfig when there is none. */
export async function secretKubeconfig(
  consumer: Consumer,
  { namespace = "", name }: ObjectRef,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly origin: string }> {
  const origin = `Secret ${namespace}/${name}`;
  const secret = await consumer.client.find<DynamicObject>(secrets, { namespace, name }, { signal });
  if (secret === undefined) throw new CliError("Kubeconfig", `${origin} does not exist in the app cluster.`);
  const text = kubeconfigOf(secret);
  if (text === undefined) throw new CliError("Kubeconfig", `${origin} has no key ${kubeconfigKey}.`);
  return { text, origin };
}

/** The kubeconfig in a Secret. */
export function kubeconfigOf(secret: DynamicObject): string | undefined {
  return secretText(secret, kubeconfigKey);
}

/** Returns undefined if the server answers 403. */
export async function ifAllowed<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** Returns the UID by which a cluster is known, that of its namespace kube-system; undefined if it may not be read. */
export async function clusterUid(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const ref = { name: clusterIdentityNamespace };
  return (await ifAllowed(() => client.find(namespaces, ref, { signal })))?.metadata.uid;
}
