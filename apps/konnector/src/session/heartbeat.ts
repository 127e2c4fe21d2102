/** Tells the provider that this agent lives, and brings its fresh credentials over (reference/bind.md §4.5). */
import {
  clusterBindingName,
  clusterBindings,
  type ClusterBinding,
  falseCondition,
  kubeconfigKey,
  klutchVersion,
  type NewCondition,
  secrets,
  setConditions,
  trueCondition,
  wholeSeconds,
} from "@klutch/api";
import {
  type DynamicObject,
  jsonEqual,
  keyOfRef,
  KubeconfigError,
  type ObjectRef,
  parseForeignKubeconfig,
} from "@klutch/kube";
import { Controller, type ReconcileResult } from "@klutch/kube-runtime";
import type { CacheLease } from "../cache/pool.ts";
import type { SharedCache } from "../cache/shared-cache.ts";
import type { ConsumerCluster, Environment, ProviderCluster } from "../clusters.ts";
import { asClusterBinding, secretText } from "../decode.ts";

/** What the heartbeat needs. */
export interface HeartbeatOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly clusterBindings: SharedCache;
  /** The app cluster's Secret with the provider's kubeconfig; absent in control-plane mode, where the agent has its own account. */
  readonly credentials?: { readonly secretRef: ObjectRef; readonly cache: SharedCache } | undefined;
  readonly environment: Environment;
  /** For all bindings of the session. */
  readonly report: (condition: NewCondition) => void;
  readonly reportPrettyName: (prettyName: string) => void;
}

/** Twice the time between heartbeats; the backend waits that long before it calls a cluster unhealthy. */
const promisedInterval = "5m0s";

/** See the module comment. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #controller: Controller;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    const { logger, clock, random } = options.environment;
    this.#controller = new Controller({
      name: "heartbeat",
      workers: 1,
      logger,
      clock,
      random,
      reconcile: (_key, { signal }) => this.#beat(signal),
    });
  }

  /** Beats until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clusterBindings: own, credentials } = this.#options;
    const key = (): readonly string[] => [clusterBindingName];
    using _one = this.#controller.watch(own.informer, key);
    using _two =
      credentials === undefined ? undefined : this.#controller.watch(credentials.cache.informer, key);
    this.#controller.enqueue(clusterBindingName);
    await using leases = new AsyncDisposableStack();
    this.#leases = leases;
    await this.#controller.start({ signal });
    this.#leases = undefined;
  }

  #leases: AsyncDisposableStack | undefined;
  #providerSecret: { readonly name: string; readonly lease: CacheLease } | undefined;

  async #beat(signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const { provider, environment } = this.#options;
    const { namespace } = provider.tenant;
    const cached = this.#options.clusterBindings.get(`${namespace}/${clusterBindingName}`);
    if (cached === undefined) {
      this.#options.report(
        falseCondition(
          "Heartbeating",
          "ClusterBindingUpdateFailed",
          "Warning",
          "the provider has no ClusterBinding for this cluster; run kubectl bind again",
        ),
      );
      return undefined;
    }
    const binding = asClusterBinding(cached);
    this.#options.reportPrettyName(binding.spec.providerPrettyName);
    const conditions = [trueCondition("ValidVersion")];
    if (this.#options.credentials !== undefined) {
      const secretValid = await this.#bringCredentials(binding, signal);
      if (secretValid === undefined) return undefined;
      conditions.push(secretValid);
    }
    try {
      await this.#write(binding, conditions, signal);
    } catch (error) {
      const message = `the provider did not take the heartbeat: ${error instanceof Error ? error.message : ""}`;
      this.#options.report(falseCondition("Heartbeating", "ClusterBindingUpdateFailed", "Warning", message));
      throw error;
    }
    this.#options.report(trueCondition("Heartbeating"));
    return { requeueAfterMs: environment.timing.heartbeatMs };
  }

  async #write(binding: ClusterBinding, news: readonly NewCondition[], signal: AbortSignal): Promise<void> {
    const { clock, timing } = this.#options.environment;
    const now = clock.now();
    const { status = {} } = binding;
    const last = Date.parse(status.lastHeartbeatTime ?? "");
    const isDue = !(now - last < timing.heartbeatMs);
    const lastHeartbeatTime = isDue ? wholeSeconds(now) : status.lastHeartbeatTime;
    const conditions = setConditions(status.conditions, news, now);
    const next = {
      ...status,
      lastHeartbeatTime,
      heartbeatInterval: promisedInterval,
      konnectorVersion: klutchVersion,
      conditions,
    };
    if (jsonEqual(next, status)) return;
    const { client, tenant } = this.#options.provider;
    const answer = await client.mergePatch<DynamicObject>(
      clusterBindings,
      { namespace: tenant.namespace, name: clusterBindingName },
      { metadata: { resourceVersion: binding.metadata.resourceVersion }, status: next },
      { subresource: "status", signal },
    );
    this.#options.clusterBindings.wrote(answer);
  }

  /** Undefined while the provider's Secret is not known yet; its arrival starts another beat. */
  async #bringCredentials(binding: ClusterBinding, signal: AbortSignal): Promise<NewCondition | undefined> {
    const { name, key } = binding.spec.kubeconfigSecretRef;
    const cache = this.#watchProviderSecret(name);
    if (cache === undefined || !cache.informer.synced) return undefined;
    const where = `Secret ${this.#options.provider.tenant.namespace}/${name}`;
    const secret = cache.get(`${this.#options.provider.tenant.namespace}/${name}`);
    if (secret === undefined) {
      return falseCondition("SecretValid", "ProviderSecretNotFound", "Warning", `${where} does not exist`);
    }
    const text = secretText(secret, key);
    const problem = text === undefined ? `it has no key ${key}` : problemOf(text);
    if (text === undefined || problem !== undefined) {
      return falseCondition("SecretValid", "ProviderSecretInvalid", "Warning", `${where}: ${problem}`);
    }
    await this.#copy(text, signal);
    return trueCondition("SecretValid");
  }

  async #copy(text: string, signal: AbortSignal): Promise<void> {
    const { consumer, credentials, environment } = this.#options;
    if (credentials === undefined || !credentials.cache.informer.synced) return;
    const { secretRef, cache: consumerSecret } = credentials;
    const present = consumerSecret.get(keyOfRef(secretRef));
    if (secretText(present, kubeconfigKey) === text) return;
    const data = { [kubeconfigKey]: Buffer.from(text).toString("base64") };
    const ref = { name: secretRef.name, namespace: secretRef.namespace };
    const answer =
      present === undefined
        ? await consumer.client.create<DynamicObject>(
            secrets,
            { apiVersion: "v1", kind: "Secret", metadata: ref, type: "Opaque", data },
            { signal },
          )
        : await consumer.client.mergePatch<DynamicObject>(secrets, ref, { data }, { signal });
    consumerSecret.wrote(answer);
    environment.logger.info("brought new credentials of the provider over", ref);
  }

  #watchProviderSecret(name: string): SharedCache | undefined {
    if (this.#providerSecret?.name === name) return this.#providerSecret.lease.cache;
    if (this.#leases === undefined) return undefined;
    const { provider, environment } = this.#options;
    const { namespace } = provider.tenant;
    const lease = provider.pool.acquire({
      type: secrets,
      namespace,
      fieldSelector: `metadata.name=${name}`,
    });
    this.#leases.use(lease);
    this.#leases.use(this.#controller.watch(lease.cache.informer, () => [clusterBindingName]));
    lease.cache.informer.whenSynced().then(
      () => this.#controller.enqueue(clusterBindingName),
      (error: unknown) => environment.logger.debug("stopped waiting for the provider's Secret", { error }),
    );
    this.#providerSecret = { name, lease };
    return lease.cache;
  }
}

function problemOf(text: string): string | undefined {
  try {
    parseForeignKubeconfig(text);
    return undefined;
  } catch (error) {
    if (error instanceof KubeconfigError) return error.message;
    throw error;
  }
}
