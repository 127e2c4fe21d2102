/** The top of the agent: APIServiceBindings and the Secrets they name become sessions (reference/bind.md §4.3). Lives for one term of the lease. */
import { type ClusterConfig, type KubeClient, parseForeignKubeconfig } from "@klutch/kube";
import { falseCondition, keyOf, keyOfRef, type NewCondition, refOf, secrets } from "@klutch/kube-core";
import { type CacheLease, Controller, type ReconcileResult } from "@klutch/kube-runtime";
import type { BindingCluster, ConsumerCluster, Environment } from "../../clusters.ts";
import { asBinding } from "../../decode.ts";
import { readKubeconfig, unreadableRetryMs } from "../../provider-connection/kubeconfig-secret.ts";
import { addressOf, Session } from "../../provider/session.ts";
import { BindingStatus } from "../binding-status/binding-status.ts";
import { abandon, isAbandoned } from "../binding/abandon.ts";

/** What the agent needs. */
export interface AgentOptions {
  readonly consumer: ConsumerCluster;
  readonly bindingCluster: BindingCluster;
  /** Makes a client for a provider; its writes must be fenced. */
  readonly createProviderClient: (config: ClusterConfig) => KubeClient;
  readonly environment: Environment;
}

/** One referenced Secret and what came of it. */
interface Provider {
  readonly lease: CacheLease;
  readonly subscription: Disposable;
  session: Session | undefined;
  textHash: string | undefined;
}

/** See the module comment. */
export class Agent implements AsyncDisposable {
  readonly #options: AgentOptions;
  readonly #bindings: CacheLease;
  readonly #status: BindingStatus;
  readonly #controller: Controller;
  /** By `namespace/name` of the Secret. */
  readonly #providers = new Map<string, Provider>();

  constructor(options: AgentOptions) {
    this.#options = options;
    const { bindingCluster, environment } = options;
    const { logger, clock, random } = environment;
    this.#bindings = bindingCluster.pool.acquire({ type: bindingCluster.bindingType });
    this.#status = new BindingStatus(bindingCluster, this.#bindings.cache, environment);
    this.#controller = new Controller({
      name: "providers",
      workers: 1,
      logger,
      clock,
      random,
      reconcile: (secretKey, { signal }) => this.#reconcile(secretKey, signal),
    });
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    using _subscription = this.#controller.watch(this.#bindings.cache.informer, ({ object }) => {
      const secretKey = keyOfRef(asBinding(object).spec.kubeconfigSecretRef);
      return [secretKey];
    });
    try {
      await this.#bindings.cache.informer.whenSynced({ signal });
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    await Promise.all([this.#controller.start({ signal }), this.#status.run(signal)]);
  }

  /** What keeps the agent from being current. */
  problems(): string[] {
    return this.#providers
      .values()
      .flatMap(({ session }) => session?.problems() ?? [])
      .toArray();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#providers.keys()].map((key) => this.#drop(key)));
    await this.#bindings[Symbol.asyncDispose]();
  }

  async #reconcile(secretKey: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    await this.#abandon(secretKey, signal);
    const keys = this.#bindingsOf(secretKey);
    if (keys.length === 0) {
      await this.#drop(secretKey);
      return undefined;
    }
    const provider = this.#providers.get(secretKey) ?? this.#watchSecret(secretKey);
    const { informer } = provider.lease.cache;
    if (!informer.synced) {
      const { lastError } = informer.status();
      if (lastError !== undefined) this.#reportUnreadable(secretKey, keys, lastError);
      return { requeueAfterMs: unreadableRetryMs };
    }
    const read = readKubeconfig(
      provider.lease.cache,
      { key: secretKey, dataKey: "kubeconfig", advice: ". Run kubectl bind again to repair it." },
      (text) => ({ ...parseForeignKubeconfig(text), name: "provider" }),
      (condition) => this.#report(keys, condition),
    );
    if (read !== undefined) await this.#use(secretKey, provider, read);
    if (!signal.aborted) provider.session?.setBindings(keys);
    return undefined;
  }

  #reportUnreadable(secretKey: string, keys: readonly string[], error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const message = `the app cluster does not show Secret ${secretKey} to the konnector: ${why}`;
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

  /** Works without the provider, so it must not wait for a session. */
  async #abandon(secretKey: string, signal: AbortSignal): Promise<void> {
    const { consumer, bindingCluster } = this.#options;
    for (const binding of this.#bindings.cache.informer.list()) {
      const isHere = keyOfRef(asBinding(binding).spec.kubeconfigSecretRef) === secretKey;
      if (isHere && isAbandoned(binding)) await abandon(consumer, bindingCluster, binding, signal);
    }
  }

  /** A session that runs is kept while the Secret is missing or unusable: its heartbeat brings a good one over. */
  async #use(
    secretKey: string,
    provider: Provider,
    { config, textHash }: { readonly config: ClusterConfig; readonly textHash: string },
  ): Promise<void> {
    if (provider.textHash === textHash && provider.session !== undefined) return;
    provider.textHash = textHash;
    if (provider.session?.address === addressOf(config)) {
      await provider.session.rotate(config);
      return;
    }
    await provider.session?.[Symbol.asyncDispose]();
    const { consumer, bindingCluster, createProviderClient, environment } = this.#options;
    provider.session = new Session({
      config,
      createClient: createProviderClient,
      credentials: { secretRef: refOf(secretKey), cache: provider.lease.cache },
      consumer,
      bindingCluster,
      bindings: this.#bindings.cache,
      status: this.#status,
      environment,
    });
  }

  #watchSecret(secretKey: string): Provider {
    const { namespace, name } = refOf(secretKey);
    const { consumer, environment } = this.#options;
    const fieldSelector = `metadata.name=${name}`;
    const lease = consumer.pool.acquire({ type: secrets, namespace, fieldSelector });
    const subscription = this.#controller.watch(lease.cache.informer, () => [secretKey]);
    const provider: Provider = { lease, subscription, session: undefined, textHash: undefined };
    this.#providers.set(secretKey, provider);
    lease.cache.informer.whenSynced().then(
      () => this.#controller.enqueue(secretKey),
      (error: unknown) => environment.logger.debug("a Secret watch was closed", { secretKey, error }),
    );
    return provider;
  }

  async #drop(secretKey: string): Promise<void> {
    const provider = this.#providers.get(secretKey);
    if (provider === undefined) return;
    this.#providers.delete(secretKey);
    provider.subscription[Symbol.dispose]();
    await provider.session?.[Symbol.asyncDispose]();
    await provider.lease[Symbol.asyncDispose]();
  }
}
