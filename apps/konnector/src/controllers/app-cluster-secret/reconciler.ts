/**
 * The Secret with the kubeconfig of the app cluster becomes a connection, for the agent that runs beside the backend: it has its own
 * account on the provider, where bindings and their status are. There is one key. Lives for one term of the lease.
 */
import { type ClusterConfig, type KubeClient, parseForeignKubeconfig } from "@klutch/kube";
import { falseCondition, keyOf, secrets } from "@klutch/kube-core";
import { CachePool, type Controller, type InformerHandle, type ReconcileResult } from "@klutch/kube-runtime";
import type { Digest } from "@klutch/sync";
import { askClusterUid } from "../../cluster-uid.ts";
import type { BindingCluster, ConsumerCluster, RuntimeDependencies } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import type { ClusterCaches } from "../../digests.ts";
import { isFilled, type Part, Running, startAll } from "../../lifecycle.ts";
import { failureText } from "../../provider-connection/credential.ts";
import { readKubeconfig, unreadableRetryMs } from "../../provider-connection/kubeconfig-secret.ts";
import { addressOf } from "../../provider-connection/provider-connection.ts";
import { type RotatingClient, rotatingClient } from "../../provider-connection/rotating-client.ts";
import { Provider } from "../../provider/provider.ts";
import { BindingStatus } from "../binding-status/binding-status.ts";
import { abandon, isAbandoned } from "../binding/abandon.ts";
import { wakeReasons } from "../../wake-reasons.ts";

/** The Secret and key that hold the kubeconfig of the app cluster. */
export interface AppClusterSecret {
  readonly secretName: string;
  readonly secretNamespace: string;
  readonly secretKey: string;
}

/** Options of the connection. */
export interface AppClusterSecretOptions {
  readonly mode: AppClusterSecret;
  readonly bindingCluster: BindingCluster;
  /** The provider, with this process's own account. */
  readonly providerConfig: ClusterConfig;
  readonly createProviderClient: (config: ClusterConfig) => KubeClient;
  /** Makes a client for the app cluster; its writes must be fenced. */
  readonly createConsumerClient: (config: ClusterConfig) => KubeClient;
  readonly runtime: RuntimeDependencies;
}

interface Connection {
  readonly address: string;
  readonly client: RotatingClient;
  readonly pool: ClusterCaches;
  readonly consumer: ConsumerCluster;
  readonly provider: Running<Provider>;
}

const key = "app-cluster";

/** Has at most one connection. A Secret that cannot be used ends none; a kubeconfig for another address ends the one in use first. */
export class AppClusterSecretReconciler implements Part {
  readonly #options: AppClusterSecretOptions;
  readonly #bindings: InformerHandle;
  readonly #secret: InformerHandle;
  readonly #status: BindingStatus;
  readonly #controller: Controller;
  #connection: Connection | undefined;
  #textHash: string | undefined;

  constructor(options: AppClusterSecretOptions) {
    this.#options = options;
    const { bindingCluster, runtime, mode } = options;
    const { pool, bindingType, namespace } = bindingCluster;
    this.#bindings = pool.acquire({ type: bindingType, namespace });
    this.#secret = pool.acquire({
      type: secrets,
      namespace: mode.secretNamespace,
      fieldSelector: `metadata.name=${mode.secretName}`,
    });
    this.#status = new BindingStatus(bindingCluster, this.#bindings.cache, runtime);
    this.#controller = createController(runtime, "app-cluster", (_key, { signal }) =>
      this.#reconcile(signal),
    );
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using _one = this.#controller.watch(this.#bindings.cache.informer, () => [key]);
    using _two = this.#controller.watch(this.#secret.cache.informer, () => [key]);
    if (!(await isFilled(this.#bindings.cache.informer, signal))) return;
    this.#controller.enqueue(key, { reason: wakeReasons.started });
    await startAll([this.#controller, this.#status], signal);
  }

  /** Returns the problems that keep the connection from being current. */
  problems(): string[] {
    return this.#connection === undefined
      ? ["app cluster: not connected yet"]
      : this.#connection.provider.part.problems();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#disconnect();
    await this.#secret[Symbol.asyncDispose]();
    await this.#bindings[Symbol.asyncDispose]();
  }

  async #reconcile(signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const keys = [...this.#bindings.cache.informer.list()].map((binding) => keyOf(binding));
    if (!this.#secret.cache.informer.synced) return { requeueAfterMs: unreadableRetryMs };
    const { secretName, secretNamespace, secretKey } = this.#options.mode;
    const read = readKubeconfig(
      this.#secret.cache,
      { key: `${secretNamespace}/${secretName}`, dataKey: secretKey },
      // A namespace in the context means nothing here.
      (text) => ({ ...parseForeignKubeconfig(text, { namespace: "default" }), name: "consumer" }),
      (condition) => keys.forEach((binding) => this.#status.report(binding, condition)),
    );
    try {
      if (read !== undefined) await this.#use(read.config, read.textHash, signal);
    } catch (error) {
      if (read !== undefined && !signal.aborted) this.#reportUnusable(keys, read.config, error);
      // A later kubeconfig must find this reconcile ended, not waiting for the earlier one's cluster.
      throw error;
    }
    const connection = this.#connection;
    if (connection === undefined || signal.aborted) return undefined;
    for (const binding of this.#bindings.cache.informer.list()) {
      if (isAbandoned(binding))
        await abandon(connection.consumer, this.#options.bindingCluster, binding, signal);
    }
    connection.provider.part.setBindings(keys);
    return undefined;
  }

  #reportUnusable(keys: readonly string[], { server }: ClusterConfig, error: unknown): void {
    const { secretName, secretNamespace } = this.#options.mode;
    const holder = `Secret ${secretNamespace}/${secretName}`;
    const advice = "Put a kubeconfig into it that works.";
    const message = failureText({ cluster: "the app cluster", server, holder, advice }, error);
    for (const binding of keys) {
      this.#status.report(
        binding,
        falseCondition("InformersSynced", "InformerSyncTimeout", "Error", message),
      );
    }
  }

  async #use(config: ClusterConfig, textHash: string, signal: AbortSignal): Promise<void> {
    if (this.#connection !== undefined && textHash === this.#textHash) return;
    if (this.#connection?.address === addressOf(config)) {
      await this.#connection.client.rotate(this.#options.createConsumerClient(config));
      this.#textHash = textHash;
      this.#options.runtime.metrics.rotations.inc();
      return;
    }
    await this.#disconnect();
    await this.#connect(config, signal);
    this.#textHash = textHash;
  }

  async #connect(config: ClusterConfig, signal: AbortSignal): Promise<void> {
    const { runtime, bindingCluster, createConsumerClient, createProviderClient, providerConfig } =
      this.#options;
    const { logger, clock, random } = runtime;
    const client = rotatingClient(createConsumerClient(config));
    const pool = new CachePool<Digest>({ client, logger, clock, random });
    try {
      const uid = await askClusterUid(client, signal);
      const consumer: ConsumerCluster = { side: "consumer", client, pool, uid };
      const provider = new Provider({
        config: { ...providerConfig, name: "provider", namespace: bindingCluster.namespace },
        createClient: createProviderClient,
        consumer,
        bindingCluster,
        bindings: this.#bindings.cache,
        status: this.#status,
        runtime,
      });
      this.#connection = {
        address: addressOf(config),
        client,
        pool,
        consumer,
        provider: new Running(provider),
      };
    } catch (error) {
      await pool[Symbol.asyncDispose]();
      await client[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    await connection.provider[Symbol.asyncDispose]();
    await connection.pool[Symbol.asyncDispose]();
    await connection.client[Symbol.asyncDispose]();
  }
}
