/** Keeps all objects of one bound resource in sync: feeds pairs to the decisions and carries the plans out. */
import { syncerFinalizer } from "@klutch/api";
import { type DynamicObject, keyOf, keyOfRef, refOf, type ResourceType } from "@klutch/kube-core";
import {
  type Change,
  Controller,
  type InformerHandle,
  objectsIn,
  type Priority,
  type ReconcileContext,
  type ReconcileResult,
} from "@klutch/kube-runtime";
import {
  appliedPart,
  isBound,
  isMarked,
  type Isolation,
  jsonEqual,
  judgeDigests,
  needsApply,
  type PairPlan,
  planPair,
  planUnbind,
  providerDigest,
  recordOf,
  reduceManagedFields,
  settledOf,
  type Step,
  type UnbindPolicy,
  upstreamNamesOf,
} from "@klutch/sync";
import { syncMetrics } from "@klutch/telemetry";
import type { ConsumerCluster, Environment, ProviderCluster } from "../../clusters.ts";
import type { BoundDigest } from "../../digests.ts";
import type { EventRecorder } from "../../events.ts";
import type { NamespaceMap } from "../service-namespace/namespace-map.ts";
import { ProviderView } from "../service-namespace/provider-view.ts";
import { CrdGuard } from "./crd-guard.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import { executeStep, type ExecutionContext } from "./execute.ts";
import type { OrphanKeeper } from "./orphan-keeper.ts";
import {
  closeDifference,
  countClaims,
  isUserEdit,
  livingDifference,
  type PairMemory,
  release,
} from "./pair-memory.ts";
import { claimKeysOf, PairReader, type ReadPair, type SeenPair, stubOf } from "./pair-reader.ts";
import { noteStep, tellFailure, tellWaiting } from "./telling.ts";

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

/** Runs from construction until it is disposed; then nothing of it is written any more. It does not unbind. */
export class ObjectSyncer implements AsyncDisposable {
  readonly #options: ObjectSyncerOptions;
  readonly #handle: InformerHandle<BoundDigest>;
  readonly #view: ProviderView<BoundDigest>;
  readonly #reader: PairReader;
  readonly #controller: Controller;
  readonly #context: ExecutionContext;
  readonly #providerType: ResourceType;
  readonly #crd: CrdGuard;
  readonly #memories = new Map<string, PairMemory>();
  /** Keys whose upstream object was seen to go, until its claim is gone, too. */
  readonly #gone = new Set<string>();
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
    this.#handle = consumer.pool.acquireDigested({ type });
    this.#crd = new CrdGuard(consumer, type, clock);
    this.#controller = new Controller({
      name: `sync ${type.plural}.${type.group}`,
      workers: "adaptive",
      metrics: environment.metrics.registry,
      logger,
      clock,
      random,
      reconcile: (key, context) => {
        environment.metrics.looks.count++;
        return this.#reconcile(key, context);
      },
    });
    this.#view = new ProviderView({
      open: (scope) => provider.pool.acquireDigested(scope),
      type: this.#providerType,
      clusterWide: !isInside && (clusterWide || !type.namespaced),
      onlyNamespace: isInside ? provider.tenant.namespace : undefined,
      namespaces,
      logger,
      onChange: (change, priority) => this.#providerChanged(change, priority),
      // Of cluster-scoped ones nothing is decided before everything is seen.
      onSynced: (namespace) => (type.namespaced ? this.#enqueueAbsent(namespace) : this.resync()),
    });
    this.#context = {
      ...options,
      providerType: this.#providerType,
      consumerCache: this.#handle.cache,
      view: this.#view,
      wasSeenGoing: (ref) => this.#gone.has(keyOfRef(ref)),
      onWrite: (step) => environment.metrics.writes.labels({ resource: type.plural, step }).inc(),
    };
    this.#reader = new PairReader({ ...options, ...this.#context });
    const { informer } = this.#handle.cache;
    this.#subscriptions.use(namespaces.inhabit(informer));
    this.#subscriptions.use(
      informer.onChange((change, isInInitialList) => this.#consumerChanged(change, isInInitialList)),
    );
    this.#subscriptions.use(this.#handle.cache.onMissedDelete((key) => this.#controller.enqueue(key)));
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
    const { informer } = this.#handle.cache;
    if (unbinding === undefined || !informer.synced || !this.#view.isComplete()) return undefined;
    const claims = [...informer.list()].filter((object) => unbinding === "Delete" || isMarked(object));
    const upstream = [...this.#view.objects()].filter(
      (object) => isBound(object) && claimKeysOf(this.#options, object).length > 0,
    );
    return Math.max(claims.length, upstream.length);
  }

  /** Looks at everything again: something that all pairs depend on has changed. */
  resync(): void {
    this.#enqueueNamespace(undefined);
    for (const object of this.#view.objects()) {
      for (const key of claimKeysOf(this.#options, object))
        this.#controller.enqueue(key, { priority: "low" });
    }
  }

  /** Tells about one of the claims, if it is there. */
  async tell(key: string, reason: string, message: string): Promise<void> {
    const claim = this.#handle.cache.get(key);
    if (claim !== undefined) this.#options.events.warn(stubOf(this.#options.type, claim), reason, message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the resource is no longer bound"));
    this.#subscriptions.dispose();
    await this.#running;
    this.#options.orphans.forgetAll(this.#options.type);
    await this.#view[Symbol.asyncDispose]();
    await this.#handle[Symbol.asyncDispose]();
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      const { informer } = this.#handle.cache;
      await informer.whenSynced({ signal });
      this.#options.breaker.setInitial(informer.size);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    using _shown = this.#options.environment.metrics.registry.read(syncMetrics.claims, () =>
      countClaims(this.#options.type.plural, this.#handle.cache.informer.list(), this.#memories),
    );
    await this.#controller.start({ signal });
  }

  /** What a person changed overtakes; the first list and our own marks do not. */
  #consumerChanged(change: Change<BoundDigest>, isInInitialList: boolean): void {
    this.#alive += livingDifference(change);
    this.#options.breaker.setAlive(this.#alive);
    const { type, provider } = this.#options;
    if (change.type === "deleted" && !type.namespaced)
      // What it leaves behind may now belong to another claim, by its name.
      for (const name of upstreamNamesOf(provider.tenant, change.key)) this.#controller.enqueue(name);
    if (isInInitialList) {
      this.#controller.enqueue(change.key, { priority: "low" });
      return;
    }
    this.#controller.enqueue(change.key, { priority: isUserEdit(change) ? "high" : "normal" });
  }

  #providerChanged({ type, object }: Change<BoundDigest>, priority: Priority): void {
    const keys = claimKeysOf(this.#options, object);
    const gone = type === "deleted" ? this.#reader.keyOf(object) : undefined;
    for (const key of keys) {
      if (key === gone) this.#gone.add(key);
      else this.#gone.delete(key);
      this.#controller.enqueue(key, { priority });
    }
    // Another tenant's: nobody will look at it.
    if (keys.length === 0) object.payload.drop();
  }

  #enqueueNamespace(consumerNamespace: string | undefined): void {
    for (const claim of objectsIn(this.#handle.cache, consumerNamespace))
      this.#controller.enqueue(keyOf(claim), { priority: "low" });
  }

  /** What a filled cache does not show is absent from now on; what it shows was enqueued when it came. */
  #enqueueAbsent(consumerNamespace: string | undefined): void {
    for (const claim of objectsIn(this.#handle.cache, consumerNamespace)) {
      const key = keyOf(claim);
      if (this.#reader.see(key, refOf(key))?.provider === undefined)
        this.#controller.enqueue(key, { priority: "low" });
    }
  }

  async #reconcile(key: string, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const seen = this.#reader.see(key, refOf(key));
    if (seen === undefined) return undefined;
    const memory = this.#memories.get(key) ?? {};
    if (seen.consumer === undefined && seen.provider === undefined) {
      this.#memories.delete(key);
      this.#gone.delete(key);
    } else this.#memories.set(key, memory);
    const { unbinding, orphans, type, environment } = this.#options;
    if (unbinding === undefined && seen.second === undefined) {
      const { settled, projected } = memory;
      const verdict = judgeDigests(seen.consumer, seen.provider, settled, projected, syncerFinalizer);
      if (verdict === "inSync" || verdict === "statusDiffers") {
        if (seen.consumer !== undefined && seen.provider !== undefined)
          memory.settled ??= settledOf(seen.consumer, seen.provider);
        if (verdict === "statusDiffers") {
          memory.openSince ??= environment.clock.monotonic();
          await this.#projectStatus(seen, memory, signal);
        }
        memory.waitingSince = undefined;
        closeDifference(memory, this.#options.environment, this.#options.type.plural);
        orphans.forget(type, key);
        release(seen);
        return undefined;
      }
      if (verdict === "claimChanged") seen.providerContentIsKnown = true;
    }
    memory.openSince ??= environment.clock.monotonic();
    const pair = await this.#reader.read(seen, unbinding !== undefined, signal);
    const observed = { ...pair, applied: memory.applied, projected: memory.projected };
    const plan = unbinding === undefined ? planPair(observed) : planUnbind(observed, unbinding);
    let written: DynamicObject | undefined;
    for (const step of plan.steps) {
      const answer = await this.#execute(step, pair, memory, signal);
      if (step.do === "applyProvider" || step.do === "patchProvider") written = answer;
    }
    this.#settle(seen, pair, plan, written, memory);
    // The upstream object was not read, so its status was not compared.
    if (seen.providerContentIsKnown === true && seen.provider?.status !== seen.consumer?.status)
      this.#controller.enqueue(key);
    return this.#afterwards(key, pair, plan, memory, signal);
  }

  /** Only the status differs, so nothing else has to be read or compared. */
  async #projectStatus(seen: SeenPair, memory: PairMemory, signal: AbortSignal): Promise<void> {
    const { consumer } = seen;
    const provider = await this.#reader.readProvider(seen, signal);
    if (consumer === undefined || provider?.status === undefined) return;
    const { ref } = seen;
    const step: Step = { do: "writeStatus", ref, uid: consumer.metadata.uid ?? "", status: provider.status };
    const stub: DynamicObject = {
      ...stubOf(this.#options.type, consumer),
      ...(consumer.status === undefined ? {} : { status: {} }),
    };
    await this.#execute(step, { consumer: stub, provider }, memory, signal);
  }

  /** Remembers that these two contents belong together, and lets go of them. */
  #settle(
    seen: SeenPair,
    { consumer, provider }: Pick<ReadPair, "consumer" | "provider">,
    plan: PairPlan,
    written: DynamicObject | undefined,
    memory: PairMemory,
  ): void {
    if (plan.waiting !== undefined || consumer === undefined || seen.consumer === undefined) return;
    const above = written ?? provider;
    if (above === undefined || !isBound(above)) return;
    const digest = written === undefined ? seen.provider : providerDigest(written);
    if (digest === undefined) return;
    memory.settled = settledOf(seen.consumer, digest);
    closeDifference(memory, this.#options.environment, this.#options.type.plural);
    release(seen);
  }

  async #execute(
    step: Step,
    observed: Pick<ReadPair, "consumer" | "provider">,
    memory: PairMemory,
    signal: AbortSignal,
  ): Promise<DynamicObject | undefined> {
    // Counted here, when it is really about to happen; the next look tells that it is held.
    if (step.do === "deleteProvider" && !(await this.#crd.mayDelete(this.#options.breaker, signal)))
      return undefined;
    try {
      const answer = await this.#controller.observeLatency(step.do, () =>
        executeStep(this.#context, step, signal),
      );
      const openForMs = this.#options.environment.clock.monotonic() - (memory.openSince ?? 0);
      noteStep(this.#options.events, step, observed, memory, openForMs);
      if (answer === undefined) return undefined;
      // Only where the server keeps something else than was sent; for all others a comparison is enough.
      if (step.do === "applyProvider") {
        const kept = reduceManagedFields(answer);
        memory.applied = needsApply(step.content, kept)
          ? recordOf(step.content, appliedPart(kept))
          : undefined;
      }
      if (step.do === "writeStatus" && !jsonEqual(answer.status, step.status)) {
        memory.projected = recordOf(step.status, answer.status);
      }
      return answer;
    } catch (error) {
      memory.failures = (memory.failures ?? 0) + 1;
      await tellFailure(this.#options.events, step, observed.consumer, error, memory.failures);
      throw error;
    }
  }

  async #afterwards(
    key: string,
    observed: ReadPair,
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
          consumerRefs: claimKeysOf(this.#options, observed.provider).map(refOf),
          orphan: observed.provider,
          breaker: this.#options.breaker,
          crd: this.#crd,
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
    const { target, second, mapping } = observed;
    const objects = target === undefined || second === undefined ? [] : [target, second];
    await tellWaiting(this.#options.events, observed.consumer, plan.waiting, { objects, mapping });
    return undefined;
  }
}
