/** Tells the provider that this agent lives, and brings its fresh credentials over (reference/bind.md §4.5). */
import {
  clusterBindingName,
  clusterBindings,
  type ForeignClusterBinding,
  klutchVersion,
  parseClusterBinding,
} from "@klutch/api";
import {
  type DynamicObject,
  falseCondition,
  jsonEqual,
  type NewCondition,
  type ObjectRef,
  secrets,
  setConditions,
  trueCondition,
  wholeSeconds,
} from "@klutch/kube-core";
import { type CacheLease, Controller, type ReconcileResult, type SharedCache } from "@klutch/kube-runtime";
import type { ConsumerCluster, Environment, ProviderCluster } from "../../clusters.ts";
import {
  bringCredential,
  type BringOptions,
  ConsumerWriteError,
} from "../../provider-connection/bring-credential.ts";

/** What the heartbeat needs. */
export interface HeartbeatOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly clusterBindings: SharedCache;
  /** The app cluster's Secret with the provider's kubeconfig; absent in control-plane mode, where the agent has its own account. */
  readonly credentials?: { readonly secretRef: ObjectRef; readonly cache: SharedCache } | undefined;
  readonly environment: Environment;
  /** Tries a kubeconfig of the provider with one request; gives back the UID of its namespace. */
  readonly prove: BringOptions["prove"];
  /** Gives back the public key with which this cluster can come back, once it can be used at this URL. */
  readonly offerKey: (url: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Words for what the provider answered. */
  readonly describe: (error: unknown) => string;
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
  #keepsKeys = true;
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
    const binding = parseClusterBinding(cached);
    if (binding.prettyName !== undefined) this.#options.reportPrettyName(binding.prettyName);
    const conditions = [trueCondition("ValidVersion")];
    try {
      if (this.#options.credentials !== undefined) {
        const secretValid = await this.#bringCredential(binding, this.#options.credentials, signal);
        if (secretValid === undefined) return undefined;
        conditions.push(secretValid);
      }
      await this.#write(binding, conditions, signal);
    } catch (error) {
      const message =
        error instanceof ConsumerWriteError
          ? error.message
          : `the heartbeat did not get through: ${this.#options.describe(error)}`;
      this.#options.report(falseCondition("Heartbeating", "ClusterBindingUpdateFailed", "Warning", message));
      throw error;
    }
    this.#options.report(trueCondition("Heartbeating"));
    return { requeueAfterMs: environment.timing.heartbeatMs };
  }

  async #write(
    { status, renewalUrl, resourceVersion }: ForeignClusterBinding,
    news: readonly NewCondition[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, timing } = this.#options.environment;
    const now = clock.now();
    const last = Date.parse(status.lastHeartbeatTime ?? "");
    const isDue = !(now - last < timing.heartbeatMs);
    const lastHeartbeatTime = isDue ? wholeSeconds(now) : status.lastHeartbeatTime;
    const conditions = setConditions(status.conditions, news, now);
    const renewalKey =
      renewalUrl === undefined || !this.#keepsKeys
        ? undefined
        : await this.#options.offerKey(renewalUrl, signal);
    const next = {
      ...status,
      ...(renewalKey === undefined ? {} : { renewalKey }),
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
      { metadata: { resourceVersion }, status: next },
      { subresource: "status", signal },
    );
    // A CustomResourceDefinition of an earlier version drops the field; writing it again and again would not help.
    const kept = parseClusterBinding(answer).status.renewalKey;
    if (renewalKey !== undefined && kept !== renewalKey) this.#keepsKeys = false;
    this.#options.clusterBindings.wrote(answer);
  }

  /** Undefined while the provider's Secret is not known yet; its arrival starts another beat. */
  async #bringCredential(
    { kubeconfigSecretRef }: ForeignClusterBinding,
    credentials: NonNullable<HeartbeatOptions["credentials"]>,
    signal: AbortSignal,
  ): Promise<NewCondition | undefined> {
    const { consumer, provider, prove, describe, environment } = this.#options;
    if (kubeconfigSecretRef === undefined) {
      const message = `spec.kubeconfigSecretRef of ClusterBinding ${provider.tenant.namespace}/${clusterBindingName} does not name a Secret and a key of it. The credential in use is kept`;
      return falseCondition("SecretValid", "ProviderSecretInvalid", "Warning", message);
    }
    const { name, key } = kubeconfigSecretRef;
    const hint = this.#watchProviderSecret(name);
    if (hint === undefined || !hint.informer.synced || !credentials.cache.informer.synced) return undefined;
    const { logger } = environment;
    return bringCredential(
      { consumer, provider, hint, name, key, ...credentials, prove, describe, logger },
      signal,
    );
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
