/** APIServiceBindings and the Secrets they name become connections, one for each provider. A key is a Secret. Lives for one term of the lease. */
import { consumerNamespace, type KonnectorUpdateScope, ownBindSecret } from "@klutch/api";
import { type ClusterConfig, type KubeClient, parseForeignKubeconfig } from "@klutch/kube";
import { falseCondition, keyOf, keyOfRef, type NewCondition, refOf, secrets } from "@klutch/kube-core";
import type { Controller, InformerHandle, ReconcileResult } from "@klutch/kube-runtime";
import type { BindingCluster, ConsumerCluster, RuntimeDependencies } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import { asBinding } from "../../decode.ts";
import { isFilled, type Part, Running, startAll } from "../../lifecycle.ts";
import { readKubeconfig, unreadableRetryMs } from "../../provider-connection/kubeconfig-secret.ts";
import { addressOf } from "../../provider-connection/provider-connection.ts";
import { Provider } from "../../provider/provider.ts";
import { BindingStatus } from "../binding-status/binding-status.ts";
import type { OwnBind } from "../../config.ts";
import { OwnBindReconciler } from "../own-bind/reconciler.ts";
import { Updates } from "../updates/reconciler.ts";
import { abandon, isAbandoned } from "../binding/abandon.ts";
import { wakeReasons } from "../../wake-reasons.ts";

/** Options of the connections. */
export interface ProviderSecretOptions {
  readonly consumer: ConsumerCluster;
  readonly bindingCluster: BindingCluster;
  /** Makes a client for a provider; its writes must be fenced. */
  readonly createProviderClient: (config: ClusterConfig) => KubeClient;
  readonly runtime: RuntimeDependencies;
  /** Default: people bind. */
  readonly ownBind?: OwnBind | undefined;
  /** Default: the konnector does not follow updates. */
  readonly allowedUpdates?: KonnectorUpdateScope | undefined;
}

/** Another provider, whose Secret a person brought, makes this cluster bind nothing. */
const ownSecretKey = keyOfRef({ namespace: consumerNamespace, name: ownBindSecret });

/** One referenced Secret and what came of it. */
interface NamedSecret {
  readonly handle: InformerHandle;
  readonly subscription: Disposable;
  provider: Running<Provider> | undefined;
  textHash: string | undefined;
}

/** Bindings that name the same Secret share a connection. A Secret that breaks ends no connection that works. */
export class ProviderSecretReconciler implements Part {
  readonly #options: ProviderSecretOptions;
  readonly #bindings: InformerHandle;
  readonly #status: BindingStatus;
  readonly #controller: Controller;
  /** One, if this konnector binds by itself. */
  readonly #ownBinds: readonly OwnBindReconciler[];
  readonly #updates: Updates | undefined;
  /** By `namespace/name` of the Secret. */
  readonly #secrets = new Map<string, NamedSecret>();

  constructor(options: ProviderSecretOptions) {
    this.#options = options;
    const { bindingCluster, runtime } = options;
    this.#bindings = bindingCluster.pool.acquire({ type: bindingCluster.bindingType });
    this.#status = new BindingStatus(bindingCluster, this.#bindings.cache, runtime);
    const { ownBind, allowedUpdates: allowed } = options;
    this.#updates = allowed === undefined ? undefined : new Updates({ ...options, allowed });
    const parts = { bindings: this.#bindings, status: this.#status };
    this.#ownBinds = ownBind === undefined ? [] : [new OwnBindReconciler({ ...options, ...parts, ownBind })];
    this.#controller = createController(runtime, "providers", (secretKey, { signal }) =>
      this.#reconcile(secretKey, signal),
    );
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using _subscription = this.#controller.watch(this.#bindings.cache.informer, ({ object }) => {
      const secretKey = keyOfRef(asBinding(object).spec.kubeconfigSecretRef);
      return [secretKey];
    });
    if (!(await isFilled(this.#bindings.cache.informer, signal))) return;
    const updates = this.#updates === undefined ? [] : [this.#updates];
    await startAll([this.#controller, this.#status, ...this.#ownBinds, ...updates], signal);
  }

  /** Returns the problems that keep the connections from being current. */
  problems(): string[] {
    return this.#secrets
      .values()
      .flatMap(({ provider }) => provider?.part.problems() ?? [])
      .toArray();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#secrets.keys()].map((key) => this.#drop(key)));
    for (const ownBind of this.#ownBinds) await ownBind[Symbol.asyncDispose]();
    await this.#bindings[Symbol.asyncDispose]();
  }

  async #reconcile(secretKey: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    await this.#abandon(secretKey, signal);
    const keys = this.#bindingsOf(secretKey);
    if (keys.length === 0) {
      await this.#drop(secretKey);
      return undefined;
    }
    const secret = this.#secrets.get(secretKey) ?? this.#watchSecret(secretKey);
    const { informer } = secret.handle.cache;
    if (!informer.synced) {
      const { lastError } = informer.status();
      if (lastError !== undefined) this.#reportUnreadable(secretKey, keys, lastError);
      return { requeueAfterMs: unreadableRetryMs };
    }
    const read = readKubeconfig(
      secret.handle.cache,
      { key: secretKey, dataKey: "kubeconfig", advice: ". Run kubectl bind again to repair it." },
      (text) => ({ ...parseForeignKubeconfig(text), name: "provider" }),
      (condition) => {
        const problem = secret.provider?.part.credentialProblem;
        this.#report(keys, condition.status === "True" && problem !== undefined ? problem : condition);
      },
    );
    if (read !== undefined) await this.#use(secretKey, secret, read, signal);
    if (!signal.aborted) secret.provider?.part.setBindings(keys);
    return undefined;
  }

  #reportUnreadable(secretKey: string, keys: readonly string[], error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const message = `the konnector cannot read Secret ${secretKey} in the app cluster: ${why}`;
    this.#report(keys, falseCondition("SecretValid", "KubeconfigSecretNotFound", "Error", message));
  }

  #report(keys: readonly string[], condition: NewCondition): void {
    for (const key of keys) this.#status.report(key, condition);
  }

  #bindingsOf(secretKey: string): readonly string[] {
    return [...this.#bindings.cache.informer.list()]
      .filter((object) => keyOfRef(asBinding(object).spec.kubeconfigSecretRef) === secretKey)
      .map((object) => keyOf(object));
  }

  /** Works without the provider, so it must not wait for one. */
  async #abandon(secretKey: string, signal: AbortSignal): Promise<void> {
    const { consumer, bindingCluster } = this.#options;
    for (const binding of this.#bindings.cache.informer.list()) {
      const isHere = keyOfRef(asBinding(binding).spec.kubeconfigSecretRef) === secretKey;
      if (isHere && isAbandoned(binding)) await abandon(consumer, bindingCluster, binding, signal);
    }
  }

  /** A provider that runs is kept while the Secret is missing or unusable: its heartbeat brings a good one over. */
  async #use(
    secretKey: string,
    secret: NamedSecret,
    { config, textHash }: { readonly config: ClusterConfig; readonly textHash: string },
    signal: AbortSignal,
  ): Promise<void> {
    if (secret.textHash === textHash && secret.provider !== undefined) return;
    secret.textHash = textHash;
    const isThere = secret.provider?.part.address === addressOf(config);
    if (isThere && (await secret.provider?.part.rotate(config, signal)) === true) return;
    await secret.provider?.[Symbol.asyncDispose]();
    const { consumer, bindingCluster, createProviderClient, ownBind, runtime } = this.#options;
    const provider = new Provider({
      config,
      createClient: createProviderClient,
      credentials: { secretRef: refOf(secretKey), cache: secret.handle.cache },
      consumer,
      bindingCluster,
      bindings: this.#bindings.cache,
      status: this.#status,
      autoBind: secretKey === ownSecretKey ? ownBind?.autoBind : undefined,
      updates: this.#updates,
      runtime,
    });
    secret.provider = new Running(provider);
  }

  #watchSecret(secretKey: string): NamedSecret {
    const { namespace, name } = refOf(secretKey);
    const { consumer, runtime } = this.#options;
    const fieldSelector = `metadata.name=${name}`;
    const handle = consumer.pool.acquire({ type: secrets, namespace, fieldSelector });
    const subscription = this.#controller.watch(handle.cache.informer, () => [secretKey]);
    const secret: NamedSecret = { handle, subscription, provider: undefined, textHash: undefined };
    this.#secrets.set(secretKey, secret);
    handle.cache.informer.whenSynced().then(
      () => this.#controller.enqueue(secretKey, { reason: wakeReasons.cacheFilled }),
      (error: unknown) => runtime.logger.debug("a Secret watch was closed", { secretKey, error }),
    );
    return secret;
  }

  async #drop(secretKey: string): Promise<void> {
    const secret = this.#secrets.get(secretKey);
    if (secret === undefined) return;
    this.#secrets.delete(secretKey);
    secret.subscription[Symbol.dispose]();
    await secret.provider?.[Symbol.asyncDispose]();
    await secret.handle[Symbol.asyncDispose]();
  }
}
