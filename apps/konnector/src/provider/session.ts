/** The agent's work with one provider: everything that hangs on one kubeconfig Secret. */
import {
  apiServiceExports,
  apiServiceNamespaces,
  clusterBindings,
  unreachableSinceAnnotation,
} from "@klutch/api";
import { type ClusterConfig, isNotFound, isUnauthorized, type KubeClient } from "@klutch/kube";
import {
  falseCondition,
  keyOfRef,
  namespaces,
  type NewCondition,
  type ObjectRef,
  refOf,
  trueCondition,
} from "@klutch/kube-core";
import { Backoff, CachePool, type SharedCache } from "@klutch/kube-runtime";
import type { BindingCluster, ConsumerCluster, Environment, ProviderCluster } from "../clusters.ts";
import type { BindingStatus } from "../controllers/binding-status/binding-status.ts";
import { BoundApis } from "../controllers/binding/bound-apis.ts";
import { Heartbeat } from "../controllers/cluster-binding/heartbeat.ts";
import { ForeignExports } from "../controllers/crd/foreign-exports.ts";
import { keepMappings } from "../controllers/service-namespace/mappings.ts";
import { NamespaceMap } from "../controllers/service-namespace/namespace-map.ts";
import { WarningMirror } from "../controllers/warning/warning-mirror.ts";
import { type ClusterCaches, providerDigests, providerObjectsOfOneKind } from "../digests.ts";
import { NotFilledError, WrongProviderError } from "../errors.ts";
import { createEventRecorder, type EventRecorder } from "../events.ts";
import { type CredentialUse, failureText, proveCredential } from "../provider-connection/credential.ts";
import {
  assertPinned,
  createProviderGuard,
  formatIdentity,
  type ProviderIdentity,
  readIdentity,
  readOwner,
} from "../provider-connection/identity.ts";
import { type Outage, watchReachability } from "../provider-connection/reachability.ts";
import { Renewal } from "../provider-connection/renewal.ts";
import { type RotatingClient, rotatingClient } from "../provider-connection/rotating-client.ts";

/** What a session is made of. */
export interface SessionOptions {
  readonly config: ClusterConfig;
  readonly createClient: (config: ClusterConfig) => KubeClient;
  /** Where fresh credentials are brought to; absent when the agent has its own account on the provider. */
  readonly credentials?: { readonly secretRef: ObjectRef; readonly cache: SharedCache } | undefined;
  readonly consumer: ConsumerCluster;
  readonly bindingCluster: BindingCluster;
  readonly bindings: SharedCache;
  readonly status: BindingStatus;
  readonly environment: Environment;
}

/** So many exports and namespace mappings of one provider are looked at. */
const exportLimit = 1_000;
const mappingLimit = 10_000;

/** What two kubeconfigs must share so that one may replace the other without a new session. */
export function addressOf(config: ClusterConfig): string {
  return `${config.server} ${config.namespace ?? ""}`;
}

/** See the module comment. Runs from construction until it is disposed. */
export class Session implements AsyncDisposable {
  readonly address: string;
  readonly #options: SessionOptions;
  readonly #client: RotatingClient;
  readonly #renewal: Renewal | undefined;
  readonly #pool: ClusterCaches;
  readonly #events: EventRecorder;
  readonly #abort = new AbortController();
  /** Ends the wait for the next attempt. */
  #rotated = new AbortController();
  readonly #running: Promise<void>;
  #bindingKeys: readonly string[] = [];
  #apis: BoundApis | undefined;
  /** What holds for all bindings, by condition type. */
  readonly #known = new Map<string, NewCondition>();
  #prettyName: string | undefined;
  /** What the provider has too many of. */
  #limit: string | undefined;

  constructor(options: SessionOptions) {
    const { config, createClient, environment, consumer } = options;
    const { logger, clock, random } = environment;
    this.#options = options;
    this.address = addressOf(config);
    this.#renewal = this.#createRenewal();
    this.#client = rotatingClient(createClient(config), () => this.#renewal?.refused());
    this.#events = createEventRecorder(consumer.client, clock, logger);
    this.#pool = new CachePool({
      client: this.#client,
      digests: providerDigests,
      maxObjects: providerObjectsOfOneKind,
      onLimit: (message) => this.#tellLimit(message),
      logger,
      clock,
      random,
    });
    const { signal } = this.#abort;
    this.#running = Promise.all([this.#run(signal), this.#renewal?.run(signal)]).then(() => undefined);
  }

  /** The provider's credentials changed; address and namespace are the same. */
  async rotate(config: ClusterConfig): Promise<void> {
    const { logger, metrics } = this.#options.environment;
    await this.#client.rotate(this.#options.createClient(config));
    metrics.rotations.inc();
    this.#renewal?.rotated();
    this.#rotated.abort(new Error("there are new credentials"));
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
        logger.warn("the provider cannot be used, trying again", { server: this.address, error });
        if (error instanceof WrongProviderError)
          this.#report(falseCondition("Connected", "WrongProvider", "Error", error.message));
        this.#report(
          falseCondition(
            "InformersSynced",
            "InformerSyncTimeout",
            "Error",
            error instanceof NotFilledError ? error.message : this.#describe(error),
          ),
        );
        const woken = AbortSignal.any([signal, this.#rotated.signal]);
        await clock.sleep(backoff.next(), { signal: woken }).catch(() => undefined);
        if (this.#rotated.signal.aborted) this.#rotated = new AbortController();
      }
    }
  }

  /** Works until the signal aborts; throws when the provider cannot be reached or its caches do not fill. */
  async #connected(signal: AbortSignal): Promise<void> {
    const { consumer, bindingCluster, bindings, status, environment } = this.#options;
    const namespace = this.#options.config.namespace ?? "";
    const identity = await readIdentity(this.#client, namespace, signal);
    this.#assertPinned(identity);
    const provider: ProviderCluster = {
      side: "provider",
      client: this.#client,
      pool: this.#pool,
      tenant: { namespace, namespaceUid: identity.namespaceUid },
    };
    await using stack = new AsyncDisposableStack();
    const open = (scope: Parameters<ClusterCaches["acquire"]>[0], pool = this.#pool): SharedCache =>
      stack.use(pool.acquire(scope)).cache;
    const exports = open({ type: apiServiceExports, namespace, maxObjects: exportLimit });
    const mappings = open({ type: apiServiceNamespaces, namespace, maxObjects: mappingLimit });
    const own = open({ type: clusterBindings, namespace });
    const consumerNamespaces = open({ type: namespaces, metadataOnly: true }, consumer.pool);
    await this.#filled([exports, mappings, own], "the provider", signal);
    await this.#filled([consumerNamespaces], "the app cluster", signal);
    const { tenant } = provider;
    const { clock, logger } = environment;
    const proofOf = (name: string): Promise<string | undefined> => readOwner(this.#client, name, signal);
    const map = stack.use(new NamespaceMap({ mappings, consumerNamespaces, tenant, proofOf, clock, logger }));
    const offered = new ForeignExports(exports, namespace);
    const events = this.#events;
    const parts = { consumer, provider, environment };
    const apis = stack.use(
      new BoundApis({
        ...parts,
        bindingCluster,
        identity: formatIdentity(identity),
        confirmProvider: createProviderGuard(this.#client, provider.tenant, environment.clock),
        bindings,
        exports: offered,
        namespaces: map,
        status,
        events,
      }),
    );
    this.#apis = apis;
    const mirror = stack.use(new WarningMirror({ provider, namespaces: map, environment, apis }));
    if (this.#limit === undefined) this.#report(trueCondition("InformersSynced"));
    this.setBindings(this.#bindingKeys);
    environment.logger.info("connected to the provider", { server: this.address });
    await Promise.all([
      apis.run(signal),
      this.#heartbeat(provider, own).run(signal),
      keepMappings({ ...parts, mappings, consumerNamespaces, namespaces: map }, signal),
      mirror.run(signal),
      watchReachability(
        {
          clock: environment.clock,
          cache: exports,
          unreachableAfterMs: environment.timing.unreachableAfterMs,
          pending: () => apis.pending,
          onChange: (outage) => this.#tellOutage(outage),
        },
        signal,
      ),
    ]);
    this.#apis = undefined;
  }

  #heartbeat(provider: ProviderCluster, own: SharedCache): Heartbeat {
    const { consumer, environment, credentials } = this.#options;
    return new Heartbeat({
      consumer,
      provider,
      environment,
      clusterBindings: own,
      credentials,
      prove: (candidate, signal) => proveCredential(this.#options.createClient, candidate, signal),
      describe: (error) => this.#describe(error),
      offerKey: (url, signal) => this.#renewal?.offer(url, signal) ?? Promise.resolve(undefined),
      report: (condition) => this.#report(condition),
      reportPrettyName: (name) => this.#reportPrettyName(name),
    });
  }

  #createRenewal(): Renewal | undefined {
    const { credentials, consumer, createClient, environment } = this.#options;
    if (credentials === undefined) return undefined;
    return new Renewal({
      ...credentials,
      consumer,
      environment,
      prove: (candidate, signal) => proveCredential(createClient, candidate, signal),
    });
  }

  #assertPinned(identity: ProviderIdentity): void {
    for (const key of this.#bindingKeys) {
      const binding = this.#options.bindings.get(key);
      if (binding !== undefined) assertPinned(binding, identity);
    }
  }

  /** The bindings say it while it lasts; what waits is kept and goes on by itself. */
  #tellOutage(outage: Outage | undefined): void {
    const { environment, bindingCluster, bindings } = this.#options;
    if (outage === undefined) {
      environment.logger.info("the provider can be reached again", { server: this.address });
      this.#report(trueCondition("Heartbeating"));
    } else {
      const { since, pending, error } = outage;
      const reason = this.#describe(error);
      const message = isUnauthorized(error)
        ? `${reason} ${pending} changes wait since ${since}`
        : `the provider has not been reached since ${since}; ${pending} changes wait: ${reason}`;
      environment.logger.warn("the provider cannot be reached", {
        server: this.address,
        since,
        pending,
        reason,
      });
      this.#report(falseCondition("Heartbeating", "ProviderUnreachable", "Warning", message));
    }
    const since = outage?.since ?? null;
    for (const key of this.#bindingKeys) {
      const present = bindings.get(key)?.metadata.annotations?.[unreachableSinceAnnotation] ?? null;
      if (present === since) continue;
      const patch = { metadata: { annotations: { [unreachableSinceAnnotation]: since } } };
      bindingCluster.client
        .mergePatch(bindingCluster.bindingType, refOf(key), patch)
        .catch((error: unknown) => {
          if (!isNotFound(error))
            environment.logger.debug("a binding could not be annotated", { key, error });
        });
    }
  }

  async #filled(
    caches: readonly SharedCache[],
    cluster: CredentialUse["cluster"],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, timing } = this.#options.environment;
    const timeout = new AbortController();
    const cancel = clock.schedule(timing.syncTimeoutMs, () => {
      const { informer } = caches.find((cache) => !cache.informer.synced) ?? caches[0] ?? {};
      const cause = informer?.status().lastError;
      const isAnswer = cluster === "the provider" && isUnauthorized(cause);
      timeout.abort(isAnswer ? cause : new NotFilledError(cluster, timing.syncTimeoutMs, cause));
    });
    try {
      const both = AbortSignal.any([signal, timeout.signal]);
      await Promise.all(caches.map(({ informer }) => informer.whenSynced({ signal: both })));
    } finally {
      cancel();
    }
  }

  /** A provider that has too much of something is served in part, and its bindings say so. */
  #tellLimit(message: string | undefined): void {
    this.#limit = message;
    this.#report(
      message === undefined
        ? trueCondition("InformersSynced")
        : falseCondition("InformersSynced", "TooManyObjects", "Error", `on the provider, ${message}`),
    );
  }

  /** What the provider did to a request of ours, in words. */
  #describe(error: unknown): string {
    const { config, credentials } = this.#options;
    const holder =
      credentials === undefined ? "this agent's own account" : `Secret ${keyOfRef(credentials.secretRef)}`;
    const advice =
      credentials === undefined
        ? "Restart the agent."
        : `${this.#renewal?.problem ?? ""}Run kubectl bind with the provider's address again.`;
    return failureText({ cluster: "the provider", server: config.server, holder, advice }, error);
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
