/** Keeps all objects of one bound resource in sync: feeds pairs to `planPair` and carries the plans out. */
import { ApiError, type DynamicObject, type ObjectRef, refOf, type ResourceType } from "@klutch/kube";
import { type Change, Controller, type ReconcileContext, type ReconcileResult } from "@klutch/kube-runtime";
import {
  appliedPart,
  type AppliedRecord,
  consumerNameOf,
  defaultMetadataRule,
  isBound,
  isMarked,
  type Isolation,
  type Mapping,
  jsonEqual,
  type ObservedPair,
  type PairPlan,
  needsApply,
  planPair,
  planUnbind,
  providerRefOf,
  recordOf,
  type Step,
  type UnbindPolicy,
} from "@klutch/sync";
import { byNamespace, type CacheLease } from "../cache/pool.ts";
import type { ConsumerCluster, Environment, ProviderCluster } from "../clusters.ts";
import type { EventRecorder } from "../events.ts";
import type { NamespaceMap } from "../session/namespace-map.ts";
import { ProviderView } from "../session/provider-view.ts";
import { executeStep, type ExecutionContext } from "./execute.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import type { OrphanKeeper } from "./orphan-keeper.ts";
import { tellWaiting } from "./waiting.ts";

/** Which resource is synced, and between whom. */
export interface ObjectSyncerOptions {
  readonly type: ResourceType;
  /** For cluster-scoped resources. */
  readonly isolation: Isolation;
  /** Set while the API is being unbound. */
  readonly unbinding?: UnbindPolicy | undefined;
  readonly statusSubresource: boolean;
  /** One watch on the provider instead of one for each service namespace. */
  readonly clusterWide: boolean;
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMap;
  readonly orphans: OrphanKeeper;
  readonly breaker: DeletionBreaker;
  /** Throws when the provider is not the one it was. */
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

/** What the process remembers of one pair; lost without harm on restart. */
interface PairMemory {
  applied?: AppliedRecord | undefined;
  projected?: AppliedRecord | undefined;
  waitingSince?: number | undefined;
  isSynced?: boolean | undefined;
}

const workers = 16;

/** See the module comment. Runs from construction until it is disposed. */
export class ObjectSyncer implements AsyncDisposable {
  readonly #options: ObjectSyncerOptions;
  readonly #lease: CacheLease;
  readonly #view: ProviderView;
  readonly #controller: Controller;
  readonly #context: ExecutionContext;
  readonly #providerType: ResourceType;
  readonly #memories = new Map<string, PairMemory>();
  /** Claims that are not being deleted, for the breaker. */
  #alive = 0;
  readonly #subscriptions = new DisposableStack();
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: ObjectSyncerOptions) {
    const { type, isolation, consumer, provider, namespaces, environment, clusterWide } = options;
    const { logger, clock, random } = environment;
    this.#options = options;
    const isInside = !type.namespaced && isolation === "Namespaced";
    this.#providerType = isInside ? { ...type, namespaced: true } : type;
    this.#lease = consumer.pool.acquire({ type });
    this.#controller = new Controller({
      name: `sync ${type.plural}.${type.group}`,
      workers,
      logger,
      clock,
      random,
      reconcile: (key, context) => this.#measured(key, context),
    });
    this.#view = new ProviderView({
      provider,
      type: this.#providerType,
      clusterWide: !isInside && (clusterWide || !type.namespaced),
      onlyNamespace: isInside ? provider.tenant.namespace : undefined,
      namespaces,
      logger,
      onChange: (change) => this.#providerChanged(change),
      onSynced: (namespace) => this.#enqueueNamespace(namespace),
    });
    this.#context = {
      ...options,
      providerType: this.#providerType,
      consumerCache: this.#lease.cache,
      view: this.#view,
      onWrite: (step) => environment.metrics.writes.inc({ resource: type.plural, step }),
    };
    const { informer } = this.#lease.cache;
    this.#subscriptions.use(informer.onChange((change) => this.#consumerChanged(change)));
    if (type.namespaced) {
      this.#subscriptions.use(namespaces.onChange((namespace) => this.#enqueueNamespace(namespace)));
    }
    this.#running = this.#run(this.#abort.signal);
  }

  get type(): ResourceType {
    return this.#options.type;
  }

  /** Keys that wait or are worked on. */
  get pending(): number {
    return this.#controller.pending;
  }

  /** Objects that unbinding has not finished with; undefined while that cannot be known. */
  remaining(): number | undefined {
    const { unbinding } = this.#options;
    const { informer } = this.#lease.cache;
    if (unbinding === undefined || !informer.synced || !this.#view.isComplete()) return undefined;
    const claims = [...informer.list()].filter((object) => unbinding === "Delete" || isMarked(object));
    const upstream = [...this.#view.objects()].filter(
      (object) => isBound(object) && this.#consumerKeyOf(object) !== undefined,
    );
    return Math.max(claims.length, upstream.length);
  }

  /** Looks at everything again: something that all pairs depend on has changed. */
  resync(): void {
    this.#enqueueNamespace(undefined);
  }

  /** Tells about one of the claims, if it is there. */
  async tell(key: string, reason: string, message: string): Promise<void> {
    const claim = this.#lease.cache.get(key);
    if (claim !== undefined) await this.#options.events.tell(claim, "Warning", reason, message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the resource is no longer bound"));
    this.#subscriptions.dispose();
    await this.#running;
    await this.#view[Symbol.asyncDispose]();
    await this.#lease[Symbol.asyncDispose]();
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      const { informer } = this.#lease.cache;
      await informer.whenSynced({ signal });
      this.#options.breaker.setInitial(informer.size);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    await this.#controller.start({ signal });
  }

  /** What a person changed overtakes; the first list and our own marks do not. */
  #consumerChanged(change: Change<DynamicObject>): void {
    this.#alive += livingDifference(change);
    this.#options.breaker.setAlive(this.#alive);
    if (!this.#lease.cache.informer.synced) {
      this.#controller.enqueue(change.key, { lane: "resync" });
      return;
    }
    const isUserEdit =
      change.type !== "updated" ||
      change.object.metadata.generation !== change.previous.metadata.generation ||
      change.object.metadata.deletionTimestamp !== change.previous.metadata.deletionTimestamp;
    this.#controller.enqueue(change.key, { lane: isUserEdit ? "user" : "normal" });
  }

  #providerChanged(change: Change<DynamicObject>): void {
    const key = this.#consumerKeyOf(change.object);
    if (key !== undefined) this.#controller.enqueue(key);
  }

  #consumerKeyOf(provider: DynamicObject): string | undefined {
    const { namespace = "", name = "" } = provider.metadata;
    const { type, provider: cluster, isolation } = this.#options;
    if (!type.namespaced) return consumerNameOf(cluster.tenant, provider, isolation);
    const consumerNamespace = this.#options.namespaces.consumerNamespaceOf(namespace);
    return consumerNamespace === undefined ? undefined : `${consumerNamespace}/${name}`;
  }

  #enqueueNamespace(consumerNamespace: string | undefined): void {
    const { informer } = this.#lease.cache;
    const objects =
      consumerNamespace === undefined ? informer.list() : informer.byIndex(byNamespace, consumerNamespace);
    for (const { metadata } of objects) {
      const { namespace, name = "" } = metadata;
      this.#controller.enqueue(namespace === undefined ? name : `${namespace}/${name}`, { lane: "resync" });
    }
  }

  async #measured(key: string, context: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { metrics, clock } = this.#options.environment;
    const resource = this.#options.type.plural;
    const started = clock.monotonic();
    let result = "error";
    try {
      const outcome = await this.#reconcile(key, context);
      result = "success";
      return outcome;
    } finally {
      metrics.reconciles.inc({ resource, result });
      metrics.duration.observe((clock.monotonic() - started) / 1000, { resource });
    }
  }

  async #reconcile(key: string, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const ref: ObjectRef = refOf(key);
    const observed = this.#observe(key, ref);
    if (observed === undefined) return undefined;
    const memory = this.#memories.get(key) ?? {};
    const { unbinding } = this.#options;
    const pair = { ...observed, applied: memory.applied, projected: memory.projected };
    const plan = unbinding === undefined ? planPair(pair) : planUnbind(pair, unbinding);
    if (observed.consumer === undefined && observed.provider === undefined) this.#memories.delete(key);
    else this.#memories.set(key, memory);
    for (const step of plan.steps) await this.#execute(step, observed, memory, signal);
    return this.#afterwards(key, observed, plan, memory, signal);
  }

  /** Undefined while a cache is not filled: what it does not show may exist. */
  #observe(
    key: string,
    ref: ObjectRef,
  ):
    | (ObservedPair & { consumer: DynamicObject | undefined; provider: DynamicObject | undefined })
    | undefined {
    const { namespaces, provider, type, isolation, breaker } = this.#options;
    if (type.namespaced !== (ref.namespace !== undefined)) return undefined;
    const mapping: Mapping =
      ref.namespace === undefined ? { state: "missing" } : namespaces.mapping(ref.namespace);
    const target = providerRefOf(provider.tenant, ref, mapping, isolation);
    if (target !== undefined && !this.#view.isSynced(target.namespace)) return undefined;
    return {
      ref,
      mapping,
      tenant: provider.tenant,
      rule: defaultMetadataRule,
      isolation,
      deletionsHeld: breaker.isHeld,
      consumer: this.#lease.cache.get(key),
      provider: target === undefined ? undefined : this.#view.get(target),
    };
  }

  async #execute(
    step: Step,
    observed: {
      readonly consumer: DynamicObject | undefined;
      readonly provider: DynamicObject | undefined;
    },
    memory: PairMemory,
    signal: AbortSignal,
  ): Promise<void> {
    // Counted here, when it is really about to happen; the next look tells that it is held.
    if (step.do === "deleteProvider" && !this.#options.breaker.admit()) return;
    try {
      const answer = await executeStep(this.#context, step, signal);
      this.#noteStep(step, observed, memory);
      if (answer === undefined) return;
      // Only where the server keeps something else than was sent; for all others a comparison is enough.
      if (step.do === "applyProvider" && needsApply(step.content, answer)) {
        memory.applied = recordOf(step.content, appliedPart(answer));
      }
      if (step.do === "writeStatus" && !jsonEqual(answer.status, step.status)) {
        memory.projected = recordOf(step.status, answer.status);
      }
    } catch (error) {
      await this.#tellRefusal(step, observed.consumer, error);
      throw error;
    }
  }

  /** The ordinary life of a claim, as its author sees it. */
  #noteStep(
    step: Step,
    {
      consumer,
      provider,
    }: { readonly consumer: DynamicObject | undefined; readonly provider: DynamicObject | undefined },
    memory: PairMemory,
  ): void {
    const { events } = this.#options;
    if (consumer === undefined) return;
    if (step.do === "createMapping") {
      events.note(consumer, "Accepted", "the provider was asked for a namespace that mirrors this one");
    } else if (step.do === "applyProvider" && provider === undefined) {
      const { namespace, name } = step.content.metadata;
      const where = namespace === undefined ? name : `${namespace}/${name}`;
      events.note(consumer, "Placed", `the provider has it as ${where}`);
    } else if (step.do === "writeStatus" && consumer.status === undefined && memory.isSynced !== true) {
      memory.isSynced = true;
      events.note(consumer, "Synced", "the provider's first status has arrived");
    }
  }

  async #tellRefusal(step: Step, consumer: DynamicObject | undefined, error: unknown): Promise<void> {
    if (consumer === undefined || !(error instanceof ApiError)) return;
    if (error.status !== 422 && error.status !== 403) return;
    const where = step.do === "writeStatus" || step.do === "markConsumer" ? "this cluster" : "the provider";
    await this.#options.events.tell(
      consumer,
      "Warning",
      "SyncRefused",
      `${where} refused it: ${error.message}. It is tried again; change the object, or ask the provider.`,
    );
  }

  async #afterwards(
    key: string,
    observed: ObservedPair & { readonly consumer: DynamicObject | undefined },
    plan: PairPlan,
    memory: PairMemory,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    if (plan.waiting === "orphanConfirmation" && observed.provider !== undefined) {
      return this.#options.orphans.look(
        {
          type: this.#options.type,
          providerType: this.#providerType,
          key,
          consumerRef: observed.ref,
          orphan: observed.provider,
          breaker: this.#options.breaker,
        },
        signal,
      );
    }
    this.#options.orphans.forget(this.#options.type, key);
    const { clock, timing } = this.#options.environment;
    if (plan.waiting === undefined || observed.consumer === undefined) {
      memory.waitingSince = undefined;
      return undefined;
    }
    memory.waitingSince ??= clock.monotonic();
    const leftMs = memory.waitingSince + timing.tellAfterMs - clock.monotonic();
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    await tellWaiting(this.#options.events, observed.consumer, plan.waiting);
    return undefined;
  }
}

/** By how much a change moves the number of claims that live. */
function livingDifference(change: Change<DynamicObject>): number {
  const lives = (object: DynamicObject): number => (object.metadata.deletionTimestamp === undefined ? 1 : 0);
  switch (change.type) {
    case "added":
      return lives(change.object);
    case "deleted":
      return -lives(change.object);
    case "updated":
      return lives(change.object) - lives(change.previous);
    default:
      return change satisfies never;
  }
}
