/** The connection with one provider: one kubeconfig, whose credentials may change while it is in use. */
import type { ClusterConfig, KubeClient } from "@klutch/kube";
import { keyOfRef, type ObjectRef } from "@klutch/kube-core";
import { CachePool, type ReadYourWritesCache } from "@klutch/kube-runtime";
import type { Digest } from "@klutch/sync";
import type { ConsumerCluster, RuntimeDependencies } from "../clusters.ts";
import { type ClusterCaches, providerObjectsOfOneKind, providerWeight } from "../digests.ts";
import type { Part } from "../lifecycle.ts";
import * as declarations from "../metrics.ts";
import { failureText, proveCredential } from "./credential.ts";
import { type ProviderIdentity, readIdentity } from "./identity.ts";
import { Renewal } from "./renewal.ts";
import { type RotatingClient, rotatingClient } from "./rotating-client.ts";
import { expiryOf } from "./token-expiry.ts";

/** Destination of fresh credentials. */
export interface CredentialStore {
  /** The app cluster's Secret with the provider's kubeconfig. */
  readonly secretRef: ObjectRef;
  readonly cache: ReadYourWritesCache;
}

/** Options of a connection. */
export interface ProviderConnectionOptions {
  readonly config: ClusterConfig;
  readonly createClient: (config: ClusterConfig) => KubeClient;
  /** Absent when the agent has its own account on the provider. */
  readonly credentials?: CredentialStore | undefined;
  readonly consumer: ConsumerCluster;
  /** Called with what the provider has too many of; undefined when it has no longer. */
  readonly onLimit: (message: string | undefined) => void;
  readonly runtime: RuntimeDependencies;
}

/** Returns the part that two kubeconfigs must share so that one may replace the other without a new connection. */
export function addressOf(config: ClusterConfig): string {
  return `${config.server} ${config.namespace ?? ""}`;
}

/** Returns true if both addresses are of one server: the same origin and path. */
export function isSameServer(one: string, other: string): boolean {
  const normal = (address: string): string => new URL(address).href.replace(/\/$/, "");
  return normal(one) === normal(other);
}

/** A client and the caches behind it. While it is started it renews a credential that has ended. */
export class ProviderConnection implements Part {
  readonly address: string;
  /** The server that a person accepted with `kubectl bind`: that of the kubeconfig in the app cluster. */
  readonly server: string;
  /** Cluster namespace on the provider. */
  readonly namespace: string;
  readonly client: RotatingClient;
  readonly pool: ClusterCaches;
  readonly #options: ProviderConnectionOptions;
  readonly #renewal: Renewal | undefined;
  readonly #shown: Disposable;
  #expiry: number | undefined;
  /** Ends the wait for the next attempt. */
  #rotated = new AbortController();

  constructor(options: ProviderConnectionOptions) {
    const { config, createClient, onLimit, runtime } = options;
    const { logger, clock, random } = runtime;
    this.#options = options;
    this.address = addressOf(config);
    this.server = config.server;
    this.namespace = config.namespace ?? "";
    this.#renewal = this.#createRenewal();
    this.#expiry = expiryOf(config);
    const { host } = new URL(config.server);
    this.#shown = runtime.metrics.registry.read(declarations.credentialExpiration, () =>
      this.#expiry === undefined ? [] : [{ labels: { host }, value: this.#expiry }],
    );
    this.client = rotatingClient(createClient(config), () => this.#renewal?.refused());
    this.pool = new CachePool<Digest>({
      client: this.client,
      maxObjects: providerObjectsOfOneKind,
      maxWeight: providerWeight,
      onLimit,
      logger,
      clock,
      random,
    });
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.#renewal?.start({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#shown[Symbol.dispose]();
    await this.pool[Symbol.asyncDispose]();
    await this.client[Symbol.asyncDispose]();
  }

  /** Uses other credentials from now on; address and namespace are the same. */
  async rotate(config: ClusterConfig): Promise<void> {
    const { createClient, runtime } = this.#options;
    await this.client.rotate(createClient(config));
    runtime.metrics.rotations.inc();
    this.#expiry = expiryOf(config);
    this.#renewal?.rotated();
    this.#rotated.abort(new Error("there are new credentials"));
    this.pool.retryNow();
    runtime.logger.info("using new credentials of the provider", { server: config.server });
  }

  /** Waits before the next attempt, but not when there are new credentials since the last wait. */
  async pause(timeMs: number, signal: AbortSignal): Promise<void> {
    const woken = AbortSignal.any([signal, this.#rotated.signal]);
    await this.#options.runtime.clock.sleep(timeMs, { signal: woken }).catch(() => undefined);
    if (this.#rotated.signal.aborted) this.#rotated = new AbortController();
  }

  /** Asks which control plane this is. Throws what it answered. */
  readIdentity(signal: AbortSignal): Promise<ProviderIdentity> {
    return readIdentity(this.client, this.namespace, signal);
  }

  /** Tries a kubeconfig of the provider with one request; gives back the UID of its namespace. */
  prove(candidate: ClusterConfig, signal: AbortSignal): Promise<string> {
    return proveCredential(this.#options.createClient, candidate, signal);
  }

  /** Makes sure that this cluster can come back with a key at this URL; gives back the public key, undefined when it cannot. */
  async offerKey(url: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#renewal?.offer(url, signal);
  }

  /** Describes in words how a request to the provider failed. */
  describe(error: unknown): string {
    const { config, credentials } = this.#options;
    const holder =
      credentials === undefined ? "this agent's own account" : `Secret ${keyOfRef(credentials.secretRef)}`;
    const advice =
      credentials === undefined
        ? "Restart the agent."
        : `${this.#renewal?.problem ?? ""}Run kubectl bind with the provider's address again.`;
    return failureText({ cluster: "the provider", server: config.server, holder, advice }, error);
  }

  #createRenewal(): Renewal | undefined {
    const { credentials, consumer, runtime } = this.#options;
    if (credentials === undefined) return undefined;
    const { secretRef, cache } = credentials;
    const prove = (candidate: ClusterConfig, signal: AbortSignal): Promise<string> =>
      this.prove(candidate, signal);
    return new Renewal({ secretRef, cache, consumer, runtime, prove });
  }
}
