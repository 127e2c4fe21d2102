/** Keeps all objects of one bound resource in sync: each pair is observed, planned, carried out and remembered. */
import { type DynamicObject, refOf, type ResourceType } from "@klutch/kube-core";
import {
  Controller,
  type EventRecorder,
  type ReconcileContext,
  type ReconcileResult,
} from "@klutch/kube-runtime";
import {
  isBound,
  type Isolation,
  type PairPlan,
  planAnswered,
  planPair,
  planStatusOnly,
  planUnbind,
  type StatusView,
  type Step,
  type UnbindPolicy,
} from "@klutch/sync";
import { type Sample, syncMetrics } from "@klutch/telemetry";
import type { ConsumerCluster, ProviderCluster, RuntimeDependencies } from "../../clusters.ts";
import type { Part } from "../../lifecycle.ts";
import type { NamespaceMappings } from "../service-namespace/namespace-mappings.ts";
import { CrdGuard } from "./crd-guard.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import { DigestPairStore } from "./digest-store.ts";
import { executeStep, type ExecutionContext } from "./execute.ts";
import { NaivePairStore } from "./naive-store.ts";
import type { OrphanCollector } from "./orphan-collector.ts";
import { PairCaches } from "./pair-caches.ts";
import { PairReporter } from "./pair-reporter.ts";
import { type PairObservation, type PairStore, stubOf } from "./pair-store.ts";

/** Which resource is synced, and between whom. */
export interface ObjectReconcilerOptions {
  readonly type: ResourceType;
  /** For cluster-scoped resources. */
  readonly isolation: Isolation;
  /** Set while the API is being unbound. */
  readonly unbinding?: UnbindPolicy | undefined;
  readonly statusSubresource: boolean;
  /** What the claims' schema lets their statuses say. */
  readonly view: StatusView;
  /** One watch on the provider instead of one for each service namespace. */
  readonly clusterWide: boolean;
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMappings;
  readonly orphans: OrphanCollector;
  readonly breaker: DeletionBreaker;
  /** Throws when the provider is not the one it was. */
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  readonly events: EventRecorder;
  readonly runtime: RuntimeDependencies;
}

/** observe → plan → execute → remember, for each pair. After its work has ended nothing of it is written any more. */
export class ObjectReconciler implements Part {
  readonly #options: ObjectReconcilerOptions;
  readonly #providerType: ResourceType;
  readonly #caches: PairCaches;
  readonly #store: PairStore;
  readonly #reporter: PairReporter;
  readonly #controller: Controller;
  readonly #execution: ExecutionContext;
  readonly #crd: CrdGuard;

  constructor(options: ObjectReconcilerOptions) {
    const { type, isolation, consumer, runtime } = options;
    const { logger, clock, random, metrics } = runtime;
    this.#options = options;
    const isInside = !type.namespaced && isolation === "Namespaced";
    this.#providerType = isInside ? { ...type, namespaced: true } : type;
    this.#crd = new CrdGuard(consumer, type, clock);
    this.#reporter = new PairReporter(options);
    this.#controller = new Controller({
      name: `sync ${type.plural}.${type.group}`,
      workers: "adaptive",
      metrics: metrics.registry,
      logger,
      clock,
      random,
      reconcile: (key, context) => this.#measured(key, context),
    });
    this.#caches = new PairCaches({
      ...options,
      providerType: this.#providerType,
      enqueue: (key, priority) => this.#controller.enqueue(key, { priority }),
    });
    const { claims: consumerCache, providerInformer, places } = this.#caches;
    const shared = { ...options, providerType: this.#providerType, consumerCache, providerInformer, places };
    this.#store = runtime.naiveStore === true ? new NaivePairStore(shared) : new DigestPairStore(shared);
    this.#execution = {
      ...shared,
      wasSeenGoing: (ref) => this.#caches.wasSeenGoing(ref),
      onWrite: (step) => metrics.writes.labels({ resource: type.plural, step }).inc(),
    };
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
    return unbinding === undefined ? undefined : this.#caches.remaining(unbinding);
  }

  /** Reconciles everything again: something that all pairs depend on has changed. */
  resync(): void {
    this.#caches.wakeAll();
  }

  /** Records a Warning on one of the claims, if it is there. */
  async recordWarning(key: string, reason: string, message: string): Promise<void> {
    const { events, type } = this.#options;
    const claim = this.#caches.claims.get(key);
    if (claim !== undefined) events.recordWarning(stubOf(type, claim), reason, message);
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    try {
      const { informer } = this.#caches.claims;
      await informer.whenSynced({ signal });
      this.#options.breaker.setInitial(informer.size);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    const { metrics } = this.#options.runtime;
    using _shown = metrics.registry.read(syncMetrics.claims, () => this.#countClaims());
    await this.#controller.start({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.orphans.forgetAll(this.#options.type);
    await this.#caches[Symbol.asyncDispose]();
  }

  /** From two sizes: scraping must not cost more with more claims. */
  #countClaims(): readonly Sample<"resource" | "state">[] {
    const resource = this.#options.type.plural;
    const { differing } = this.#reporter;
    const all = this.#caches.claims.informer.size;
    return [
      { labels: { resource, state: "in_sync" }, value: Math.max(0, all - differing) },
      { labels: { resource, state: "pending" }, value: differing },
    ];
  }

  async #measured(key: string, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { metrics, clock } = this.#options.runtime;
    const started = clock.monotonic();
    metrics.reconcileCount.count++;
    try {
      return await this.#reconcile(key, started, signal);
    } catch (error) {
      this.#reporter.differs(key, started);
      throw error;
    }
  }

  /** One pair, from what both clusters show to what is remembered of it. */
  async #reconcile(
    key: string,
    startedAt: number,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const observed = await this.#store.observe(key, signal, this.#reporter.isOverdue(key));
    if (observed === "unknown") return undefined;
    if (observed === "gone" || observed === "inSync" || observed === "awaitsStatus")
      return this.#done(key, observed);
    this.#reporter.differs(key, startedAt);

    const plan = this.#plan(observed);

    let written: DynamicObject | undefined;
    for (const step of plan.steps) {
      const answer = await this.#execute(observed, step, signal);
      if (step.do === "applyProvider" || step.do === "patchProvider") written = answer;
    }
    if (written !== undefined && this.#options.unbinding === undefined)
      for (const step of planAnswered(observed, written)) await this.#execute(observed, step, signal);

    if (isDone(observed, plan, written)) {
      this.#store.rememberSynced(observed, written);
      this.#reporter.synced(key);
    }
    return this.#wait(observed, plan, signal);
  }

  #plan(observed: PairObservation): PairPlan {
    const { unbinding } = this.#options;
    if (observed.onlyStatusDiffers === true) return planStatusOnly(observed);
    return unbinding === undefined ? planPair(observed) : planUnbind(observed, unbinding);
  }

  /** One step. Undefined when the server answered with no object, or the step was held. */
  async #execute(
    observed: PairObservation,
    step: Step,
    signal: AbortSignal,
  ): Promise<DynamicObject | undefined> {
    // Counted here, when it is really about to happen; the next reconcile records that it is held.
    if (step.do === "deleteProvider" && !(await this.#crd.mayDelete(this.#options.breaker, signal)))
      return undefined;
    try {
      const answer = await this.#controller.observeLatency(step.do, () =>
        executeStep(this.#execution, step, signal),
      );
      this.#reporter.carriedOut(observed, step);
      if (answer !== undefined) this.#store.rememberWrite(observed, step, answer);
      return answer;
    } catch (error) {
      await this.#reporter.failed(observed, step, error);
      throw error;
    }
  }

  /** Nothing has to be written, or not yet. */
  #done(key: string, why: "gone" | "inSync" | "awaitsStatus"): ReconcileResult | undefined {
    const { orphans, type } = this.#options;
    orphans.forget(type, key);
    if (why === "gone") {
      this.#reporter.forget(key);
      this.#caches.forget(key);
      return undefined;
    }
    this.#reporter.synced(key);
    if (why === "awaitsStatus") return this.#reporter.awaits(key);
    this.#reporter.answered(key);
    return undefined;
  }

  /** What the pair waits for comes as a change; only an event is recorded, and orphans are reconciled, after a time. */
  async #wait(
    observed: PairObservation,
    { waiting, awaitsStatus }: PairPlan,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const { orphans, type, breaker } = this.#options;
    const { key } = observed.placed;
    const { consumer, provider } = observed;
    if (waiting === "orphanConfirmation" && provider !== undefined) {
      const consumerRefs = this.#caches.places.claimKeysOf(provider).map(refOf);
      const providerType = this.#providerType;
      return orphans.reconcile(
        { type, providerType, key, consumerRefs, orphan: provider, breaker, crd: this.#crd },
        signal,
      );
    }
    orphans.forget(type, key);
    const answer = awaitsStatus === true ? this.#reporter.awaits(key) : this.#reporter.answered(key);
    if (waiting === undefined || consumer === undefined) {
      this.#reporter.stopsWaiting(key);
      return answer;
    }
    return sooner(answer, await this.#reporter.waits(observed, consumer, waiting));
  }
}

/** Whether both objects are there and nothing is left to be written. */
function isDone(
  { consumer, provider }: PairObservation,
  { waiting }: PairPlan,
  written: DynamicObject | undefined,
): boolean {
  const upstream = written ?? provider;
  return waiting === undefined && consumer !== undefined && upstream !== undefined && isBound(upstream);
}

function sooner(
  one: ReconcileResult | undefined,
  other: ReconcileResult | undefined,
): ReconcileResult | undefined {
  if (one?.requeueAfterMs === undefined) return other;
  return other?.requeueAfterMs === undefined || one.requeueAfterMs < other.requeueAfterMs ? one : other;
}
