/** One provider: connects to it, opens its caches, runs the controllers that work with it, and ends them. */
import { plainText } from "@klutch/api";
import type { ClusterConfig, KubeClient } from "@klutch/kube";
import { falseCondition, jsonEqual, type NewCondition, trueCondition, wholeSeconds } from "@klutch/kube-core";
import {
  Backoff,
  createEventRecorder,
  type EventRecorder,
  type ReadYourWritesCache,
} from "@klutch/kube-runtime";
import type { AutoBind } from "../config.ts";
import type { BindingCluster, ConsumerCluster, RuntimeDependencies, ProviderCluster } from "../clusters.ts";
import type { BindingStatus } from "../controllers/binding-status/binding-status.ts";
import { UnsentClaims } from "../controllers/object/unsent-claims.ts";
import { Additions } from "../controllers/additions/reconciler.ts";
import { BindingReconciler } from "../controllers/binding/reconciler.ts";
import { CanaryReconciler } from "../controllers/canary/reconciler.ts";
import { ClusterBindingReconciler } from "../controllers/cluster-binding/reconciler.ts";
import type { Updates } from "../controllers/updates/reconciler.ts";
import { ForeignExports } from "../controllers/crd/foreign-exports.ts";
import { NamespaceMappings } from "../controllers/service-namespace/namespace-mappings.ts";
import type { ProviderParts } from "../controllers/service-namespace/provider-parts.ts";
import { ServiceNamespaceReconciler } from "../controllers/service-namespace/reconciler.ts";
import { WarningMirror } from "../controllers/warning/mirror.ts";
import { NotFilledError, WrongProviderError } from "../errors.ts";
import { type Part, Running, type Startable, startAll } from "../lifecycle.ts";
import { serverNotAcceptedReason } from "../provider-connection/bring-credential.ts";
import {
  assertPinned,
  createProviderGuard,
  type ProviderIdentity,
  readOwner,
} from "../provider-connection/identity.ts";
import { type CredentialStore, ProviderConnection } from "../provider-connection/provider-connection.ts";
import { type Outage, watchReachability } from "../provider-connection/reachability.ts";
import { type Away, awayFor, awayReason } from "./away.ts";
import { annotateOutage, reportOutage, sinceOf } from "./outage.ts";
import { openProviderCaches, type ProviderCaches } from "./provider-caches.ts";
import { ProviderStatus } from "./provider-status.ts";

/** Options of a provider. */
export interface ProviderOptions {
  readonly config: ClusterConfig;
  readonly createClient: (config: ClusterConfig) => KubeClient;
  /** The Secret that receives fresh credentials; absent when the agent has its own account on the provider. */
  readonly credentials?: CredentialStore | undefined;
  readonly consumer: ConsumerCluster;
  readonly bindingCluster: BindingCluster;
  /** Bindings to all providers. */
  readonly bindings: ReadYourWritesCache;
  readonly status: BindingStatus;
  /** Undefined where people bind each API of this provider. */
  readonly autoBind?: AutoBind | undefined;
  /** Undefined where the konnector does not follow updates. */
  readonly updates?: Pick<Updates, "set" | "said" | "onChange"> | undefined;
  readonly runtime: RuntimeDependencies;
}

/** Tries again, with growing waits, until the provider answers and is the one that the bindings were made with. */
export class Provider implements Part {
  readonly #options: ProviderOptions;
  readonly #connection: ProviderConnection;
  readonly #status: ProviderStatus;
  readonly #events: EventRecorder;
  /** Undefined while the provider cannot be used. */
  #bindings: BindingReconciler | undefined;
  readonly #additions: Additions;
  /** UID of the cluster namespace, since the provider has proved to be the one of the bindings. */
  #servedUid: string | undefined;
  /** Message about a limit that the provider exceeds. */
  #limit: string | undefined;
  /** True while the provider cannot be reached and the bindings say so. */
  #isOut = false;
  #away: Away | undefined;
  #credentialProblem: NewCondition | undefined;
  /** Present from the first failure until the provider is served. */
  #unsent: Running<UnsentClaims> | undefined;

  constructor(options: ProviderOptions) {
    const { config, createClient, credentials, consumer, runtime, status } = options;
    this.#options = options;
    this.#status = new ProviderStatus(status);
    this.#events = createEventRecorder({ ...runtime, client: consumer.client, component: "konnector" });
    this.#additions = new Additions({
      ...options,
      events: credentials === undefined ? undefined : this.#events,
    });
    this.#connection = new ProviderConnection({
      config,
      createClient,
      credentials,
      consumer,
      onLimit: (message) => this.#reportLimit(message),
      runtime,
    });
  }

  /** Server and namespace. */
  get address(): string {
    return this.#connection.address;
  }

  /**
   * Uses other credentials for the same address from now on, also such as do not work. Resolves to false, and goes on with the old ones, if
   * they lead to another control plane: an address may be given to another server.
   */
  async rotate(config: ClusterConfig, signal: AbortSignal): Promise<boolean> {
    const served = this.#servedUid;
    if (served !== undefined) {
      const found = await this.#connection.prove(config, signal).catch(() => served);
      signal.throwIfAborted();
      if (found !== served) return false;
    }
    await this.#connection.rotate(config);
    return true;
  }

  /** `SecretValid` of the bindings while the provider offers a credential for a server that no one accepted; undefined otherwise. */
  get credentialProblem(): NewCondition | undefined {
    return this.#credentialProblem;
  }

  /** The bindings to this provider, as keys. */
  setBindings(keys: readonly string[]): void {
    this.#bindings?.setBindings(keys);
    this.#additions.setBindings(keys);
    this.#unsent?.part.setBindings(keys);
    this.#status.setBindings(keys);
  }

  /** Returns the problems that keep the provider's caches from being current. */
  problems(): string[] {
    const own = this.#connection.pool.problems().map((scope) => `${this.address}: ${scope}`);
    return this.#bindings === undefined ? [`${this.address}: not connected yet`, ...own] : own;
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await startAll(
      [this.#connection, this.#additions, { start: (options) => this.#keepServing(options.signal) }],
      signal,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.updates?.set(this.address, undefined);
    await this.#unsent?.[Symbol.asyncDispose]();
    await this.#connection[Symbol.asyncDispose]();
  }

  async #keepServing(signal: AbortSignal): Promise<void> {
    const { random, logger, timing } = this.#options.runtime;
    const backoff = new Backoff({ baseMs: 500, capMs: timing.syncTimeoutMs, random });
    while (!signal.aborted) {
      try {
        await this.#serve(signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("the provider cannot be used, trying again", { server: this.address, error });
        this.#reportFailure(error);
        await this.#connection.pause(backoff.next(), signal);
      }
    }
  }

  /** Works until the signal aborts; throws when the provider cannot be reached or its caches do not fill. */
  async #serve(signal: AbortSignal): Promise<void> {
    const { consumer, bindingCluster, runtime } = this.#options;
    const { client, pool, namespace } = this.#connection;
    this.#servedUid = undefined;
    const identity = await this.#connection.readIdentity(signal);
    this.#assertPinned(identity);
    this.#servedUid = identity.namespaceUid;
    const tenant = { namespace, namespaceUid: identity.namespaceUid };
    const provider: ProviderCluster = { side: "provider", client, pool, tenant };
    await using caches = await openProviderCaches(this.#connection, consumer, runtime, signal);
    await this.#unsent?.[Symbol.asyncDispose]();
    this.#unsent = undefined;
    const { mappings, consumerNamespaces } = caches;
    const { clock, logger } = runtime;
    const proofOf = (name: string): Promise<string | undefined> => readOwner(client, name, signal);
    using namespaces = new NamespaceMappings({
      mappings,
      consumerNamespaces,
      clusterBindings: caches.clusterBindings,
      tenant,
      proofOf,
      clock,
      logger,
    });
    const confirmProvider = createProviderGuard(client, tenant, clock);
    this.#away = undefined;
    annotateOutage(undefined, this.#status.bindings, bindingCluster, this.#options.bindings, runtime.logger);
    const away = (): string | undefined => this.#away?.words;
    const shared = { consumer, provider, confirmProvider, namespaces, away, events: this.#events, runtime };
    await using bindings = this.#createBindings(shared, identity, caches);
    await using clusterBinding = this.#createClusterBinding(shared, caches, bindings);
    const parts = [
      bindings,
      clusterBinding,
      ...canaryOf(shared, caches),
      new ServiceNamespaceReconciler({ ...shared, mappings, consumerNamespaces }),
      new WarningMirror(shared, (...warning) => bindings.objects.recordWarning(...warning)),
      this.#createReachability(caches, bindings),
    ];
    this.#bindings = bindings;
    try {
      if (this.#limit === undefined) this.#status.report(trueCondition("InformersSynced"));
      this.setBindings(this.#status.bindings);
      logger.info("connected to the provider", { server: this.address });
      await startAll(parts, signal);
    } finally {
      this.#bindings = undefined;
      this.#isOut = false;
    }
  }

  #createBindings(
    shared: ProviderParts,
    identity: ProviderIdentity,
    caches: ProviderCaches,
  ): BindingReconciler {
    const { bindingCluster, bindings, status } = this.#options;
    return new BindingReconciler({
      ...shared,
      identity,
      bindingCluster,
      bindings,
      exports: new ForeignExports(caches.exports, shared.provider.tenant.namespace),
      status,
    });
  }

  #createClusterBinding(
    shared: ProviderParts,
    caches: ProviderCaches,
    bindings: BindingReconciler,
  ): ClusterBindingReconciler {
    return new ClusterBindingReconciler({
      ...shared,
      connection: this.#connection,
      clusterBindings: caches.clusterBindings,
      credentials: this.#options.credentials,
      report: (condition) => this.#reportHeartbeat(condition),
      reportCredential: (condition) => this.#reportCredential(condition),
      reportPrettyName: (name) => this.#status.reportPrettyName(name),
      reportLimits: (limits) => bindings.setLimits(limits),
      reportAdditions: (announced) => this.#additions.set(announced),
      updates: this.#options.updates,
      reportWanted: (version) => this.#options.updates?.set(this.address, version),
      reportOther: (version) => this.#reportOther(version),
    });
  }

  /** An event and no condition: a konnector in Go would write another `Ready`, and the two would answer each other. */
  #reportOther(version: string): void {
    const { bindings, credentials, runtime } = this.#options;
    const text = `another konnector (version ${plainText(version, 32)}) works with the access of this cluster to its provider, and both write the same objects. Stop one; klutch doctor lists the leases of the two`;
    runtime.logger.warn("another konnector works with the same access", { server: this.address });
    // In control-plane mode the bindings are in another cluster than the events.
    if (credentials === undefined) return;
    for (const key of this.#status.bindings) {
      const binding = bindings.get(key);
      if (binding !== undefined) void this.#events.record(binding, "Warning", "TwoKonnectors", text);
    }
  }

  #createReachability({ exports }: ProviderCaches, bindings: BindingReconciler): Startable {
    const { clock, timing } = this.#options.runtime;
    const options = {
      clock,
      cache: exports,
      unreachableAfterMs: timing.unreachableAfterMs,
      pending: () => bindings.objects.pending,
      onChange: (outage: Outage | undefined) => this.#reportOutage(outage),
    };
    return { start: ({ signal }) => watchReachability(options, signal) };
  }

  #assertPinned(identity: ProviderIdentity): void {
    const found = [...this.#status.bindings].map((key) => this.#options.bindings.get(key));
    assertPinned(
      found.filter((binding) => binding !== undefined),
      identity,
    );
  }

  /** An outage says since when and how much waits: more than each heartbeat that fails meanwhile. */
  #reportHeartbeat(condition: NewCondition): void {
    const isTrue = condition.status === "True";
    if (this.#isOut && !isTrue) return;
    // Watches outlive the credential, so a heartbeat may be the first to find a refusal out.
    if (isTrue) {
      this.#away = undefined;
      // In control-plane mode the ClusterBinding stands beside the bindings.
      if (this.#options.credentials !== undefined)
        this.#status.reportHeartbeat(this.#options.runtime.clock.now());
    }
    if (condition.reason === "CredentialRefused") this.#away ??= awayFor(condition.reason, this.#since());
    this.#status.report(condition);
  }

  /** Tells the app cluster about a credential that only it can accept. */
  #reportCredential(condition: NewCondition): void {
    const problem = condition.reason === serverNotAcceptedReason ? condition : undefined;
    if (jsonEqual(problem, this.#credentialProblem)) return;
    this.#credentialProblem = problem;
    for (const key of this.#status.bindings)
      this.#options.status.report(key, problem ?? trueCondition("SecretValid"));
  }

  #reportOutage(outage: Outage | undefined): void {
    const { bindingCluster, bindings, runtime } = this.#options;
    this.#isOut = outage !== undefined;
    this.#away = outage === undefined ? undefined : awayFor(awayReason(outage.error), outage.since);
    reportOutage(outage, this.#status, this.#connection, runtime.logger);
    annotateOutage(outage, this.#status.bindings, bindingCluster, bindings, runtime.logger);
  }

  #reportFailure(error: unknown): void {
    if (error instanceof WrongProviderError)
      this.#status.report(falseCondition("Connected", "WrongProvider", "Error", error.message));
    const why = error instanceof NotFilledError ? this.#textOf(error) : this.#connection.describe(error);
    this.#status.report(falseCondition("InformersSynced", "InformerSyncTimeout", "Error", why));
    this.#reportAway(awayFor(awayReason(error), this.#away?.since ?? this.#since()), why);
  }

  /** In control-plane mode the reader is the tenant, whose kubeconfig chose where this agent looks for the app cluster. */
  #textOf(error: NotFilledError): string {
    const isTenants = error.cluster === "the app cluster" && this.#options.credentials === undefined;
    return isTenants ? error.outline : error.message;
  }

  /** Tells bindings and claims that the provider could not be used since the konnector started, or not any more. */
  #reportAway(away: Away, why: string): void {
    const { consumer, bindingCluster, bindings, runtime } = this.#options;
    const isNews = this.#away?.words !== away.words;
    this.#away = away;
    if (away.reason !== undefined) {
      this.#status.report(falseCondition("Heartbeating", away.reason, "Error", why));
      annotateOutage(away, this.#status.bindings, bindingCluster, bindings, runtime.logger);
    }
    this.#unsent ??= new Running(
      new UnsentClaims({ consumer, bindings, away: () => this.#away?.words, runtime }),
    );
    this.#unsent.part.setBindings(this.#status.bindings);
    if (isNews) this.#unsent.part.said();
  }

  /** When this absence began: an earlier process may have seen it begin. */
  #since(): string {
    const { bindings, runtime } = this.#options;
    return sinceOf(this.#status.bindings, bindings) ?? wholeSeconds(runtime.clock.now());
  }

  /** A provider that has too much of something is served in part, and its bindings say so. */
  #reportLimit(message: string | undefined): void {
    this.#limit = message;
    this.#status.report(
      message === undefined
        ? trueCondition("InformersSynced")
        : falseCondition("InformersSynced", "TooManyObjects", "Error", `on the provider, ${message}`),
    );
  }
}

/** Returns the canary; none where it is switched off. */
function canaryOf(shared: ProviderParts, { clusterBindings }: ProviderCaches): readonly Startable[] {
  return shared.runtime.timing.canaryMs === 0 ? [] : [new CanaryReconciler({ ...shared, clusterBindings })];
}
