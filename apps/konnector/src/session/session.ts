/** The agent's work with one provider: everything that hangs on one kubeconfig Secret. */
import {
  apiServiceExports,
  apiServiceNamespaces,
  clusterBindings,
  falseCondition,
  namespaces,
  type NewCondition,
  trueCondition,
} from "@klutch/api";
import type { ClusterConfig, DynamicObject, KubeClient, ObjectRef } from "@klutch/kube";
import { Backoff } from "@klutch/kube-runtime";
import { reduceManagedFields, type Tenant } from "@klutch/sync";
import type { BindingStatus } from "../binding-status.ts";
import { CachePool } from "../cache/pool.ts";
import type { SharedCache } from "../cache/shared-cache.ts";
import type { ConsumerCluster, Environment, ProviderCluster } from "../clusters.ts";
import { createEventRecorder, type EventRecorder } from "../events.ts";
import { type RotatingClient, rotatingClient } from "../rotating-client.ts";
import { BoundApis } from "./bound-apis.ts";
import { Heartbeat } from "./heartbeat.ts";
import { keepMappings } from "./mappings.ts";
import { NamespaceMap } from "./namespace-map.ts";

/** What a session is made of. */
export interface SessionOptions {
  readonly config: ClusterConfig;
  readonly createClient: (config: ClusterConfig) => KubeClient;
  readonly secretRef: ObjectRef;
  readonly consumerSecret: SharedCache;
  readonly consumer: ConsumerCluster;
  readonly bindings: SharedCache;
  readonly status: BindingStatus;
  readonly environment: Environment;
}

/** What two kubeconfigs must share so that one may replace the other without a new session. */
export function addressOf(config: ClusterConfig): string {
  return `${config.server} ${config.namespace ?? ""}`;
}

/** See the module comment. Runs from construction until it is disposed. */
export class Session implements AsyncDisposable {
  readonly address: string;
  readonly #options: SessionOptions;
  readonly #client: RotatingClient;
  readonly #pool: CachePool;
  readonly #events: EventRecorder;
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;
  #bindingKeys: readonly string[] = [];
  #apis: BoundApis | undefined;
  /** What holds for all bindings, by condition type. */
  readonly #known = new Map<string, NewCondition>();
  #prettyName: string | undefined;

  constructor(options: SessionOptions) {
    const { config, createClient, environment, consumer } = options;
    const { logger, clock, random } = environment;
    this.#options = options;
    this.address = addressOf(config);
    this.#client = rotatingClient(createClient(config));
    this.#events = createEventRecorder(consumer.client, clock, logger);
    this.#pool = new CachePool({
      client: this.#client,
      transform: reduceManagedFields,
      logger,
      clock,
      random,
    });
    this.#running = this.#run(this.#abort.signal);
  }

  /** The provider's credentials changed; address and namespace are the same. */
  async rotate(config: ClusterConfig): Promise<void> {
    const { logger, metrics } = this.#options.environment;
    await this.#client.rotate(this.#options.createClient(config));
    metrics.rotations.inc();
    logger.info("using new credentials of the provider", { server: config.server });
  }

  /** The bindings that use this session, as keys. */
  setBindings(keys: readonly string[]): void {
    this.#bindingKeys = keys;
    this.#apis?.setBindings(keys);
    // A binding that is new here learns what is already known of the provider.
    for (const condition of this.#known.values()) this.#report(condition);
    if (this.#prettyName !== undefined) this.#reportPrettyName(this.#prettyName);
  }

  /** What keeps the session's caches from being current. */
  problems(): string[] {
    const own = this.#pool.problems().map((scope) => `${this.address}: ${scope}`);
    return this.#apis === undefined ? [`${this.address}: not connected yet`, ...own] : own;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the session was closed"));
    await this.#running;
    await this.#pool[Symbol.asyncDispose]();
    await this.#client[Symbol.asyncDispose]();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, timing } = this.#options.environment;
    const backoff = new Backoff({ baseMs: 500, capMs: timing.syncTimeoutMs, random });
    while (!signal.aborted) {
      try {
        await this.#connected(signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const message = error instanceof Error ? error.message : String(error);
        logger.warn("the provider cannot be used, trying again", { server: this.address, error });
        this.#report(
          falseCondition(
            "InformersSynced",
            "InformerSyncTimeout",
            "Error",
            `the provider at ${this.#options.config.server} cannot be used: ${message}`,
          ),
        );
        await clock.sleep(backoff.next(), { signal }).catch(() => undefined);
      }
    }
  }

  /** Works until the signal aborts; throws when the provider cannot be reached or its caches do not fill. */
  async #connected(signal: AbortSignal): Promise<void> {
    const { consumer, bindings, status, environment } = this.#options;
    const provider: ProviderCluster = {
      side: "provider",
      client: this.#client,
      pool: this.#pool,
      tenant: await this.#tenant(signal),
    };
    const { namespace } = provider.tenant;
    await using stack = new AsyncDisposableStack();
    const open = (scope: Parameters<CachePool["acquire"]>[0], pool = this.#pool): SharedCache =>
      stack.use(pool.acquire(scope)).cache;
    const exports = open({ type: apiServiceExports, namespace });
    const mappings = open({ type: apiServiceNamespaces, namespace });
    const own = open({ type: clusterBindings, namespace });
    const consumerNamespaces = open({ type: namespaces, metadataOnly: true }, consumer.pool);
    await this.#filled([exports, mappings, own, consumerNamespaces], signal);
    const map = stack.use(new NamespaceMap(mappings, namespace));
    const events = this.#events;
    const parts = { consumer, provider, environment };
    const apis = stack.use(new BoundApis({ ...parts, bindings, exports, namespaces: map, status, events }));
    this.#apis = apis;
    this.#report(trueCondition("InformersSynced"));
    this.setBindings(this.#bindingKeys);
    environment.logger.info("connected to the provider", { server: this.address });
    await Promise.all([
      apis.run(signal),
      this.#heartbeat(provider, own).run(signal),
      keepMappings({ ...parts, mappings, consumerNamespaces }, signal),
    ]);
    this.#apis = undefined;
  }

  #heartbeat(provider: ProviderCluster, own: SharedCache): Heartbeat {
    const { consumer, environment, secretRef, consumerSecret } = this.#options;
    return new Heartbeat({
      consumer,
      provider,
      environment,
      clusterBindings: own,
      secretRef,
      consumerSecret,
      report: (condition) => this.#report(condition),
      reportPrettyName: (name) => this.#reportPrettyName(name),
    });
  }

  async #tenant(signal: AbortSignal): Promise<Tenant> {
    const name = this.#options.config.namespace ?? "";
    const found = await this.#client.get<DynamicObject>(namespaces, { name }, { signal });
    return { namespace: name, namespaceUid: found.metadata.uid ?? "" };
  }

  async #filled(caches: readonly SharedCache[], signal: AbortSignal): Promise<void> {
    const { clock, timing } = this.#options.environment;
    const timeout = new AbortController();
    const cancel = clock.schedule(timing.syncTimeoutMs, () =>
      timeout.abort(new Error(`its objects were not listed within ${timing.syncTimeoutMs / 1000} s`)),
    );
    try {
      const both = AbortSignal.any([signal, timeout.signal]);
      await Promise.all(caches.map(({ informer }) => informer.whenSynced({ signal: both })));
    } finally {
      cancel();
    }
  }

  #reportPrettyName(prettyName: string): void {
    this.#prettyName = prettyName;
    for (const key of this.#bindingKeys) this.#options.status.reportPrettyName(key, prettyName);
  }

  #report(condition: NewCondition): void {
    this.#known.set(condition.type, condition);
    for (const key of this.#bindingKeys) this.#options.status.report(key, condition);
  }
}
