/** Keeps all objects of one bound resource in sync: each pair is observed, planned, carried out and remembered. */
import { quotaRefusalOf } from "@klutch/kube";
import {
  type DynamicObject,
  isDeleting,
  keyOf,
  refOf,
  refOfObject,
  type ResourceType,
} from "@klutch/kube-core";
import {
  type Controller,
  findSurely,
  type ReconcileContext,
  type ReconcileResult,
} from "@klutch/kube-runtime";
import {
  isBound,
  type PairPlan,
  planAnswered,
  planPair,
  planStatusOnly,
  planUnbind,
  stagesOf,
  type Step,
} from "@klutch/sync";
import type { Histogram, Sample } from "@klutch/telemetry";
import { confirmCluster } from "../../cluster-uid.ts";
import { createController } from "../../controller.ts";
import { isFilled, type Part } from "../../lifecycle.ts";
import * as declarations from "../../metrics.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import type { BoundResource } from "./bound-resource.ts";
import { CrdGuard } from "./crd-guard.ts";
import type { NamespaceVerdict } from "./deleted-namespaces.ts";
import { DigestPairStore } from "./digest-store.ts";
import { PairEvents } from "./events.ts";
import { executeStep, type ExecutionContext } from "./execute.ts";
import { isCreate, LimitReachedError } from "./limit-hold.ts";
import { NaivePairStore } from "./naive-store.ts";
import { PairCaches } from "./pair-caches.ts";
import { type PairTimes, type PairOutcome, PairProgress } from "./pair-progress.ts";
import { type Observation, type PairObservation, type PairStore, stubOf } from "./pair-store.ts";
import { overdue, sooner } from "./requeue.ts";

/** Runs observe → plan → execute → remember for each pair. Writes nothing after its work has ended. */
export class ObjectReconciler implements Part {
  readonly #bound: BoundResource;
  readonly #caches: PairCaches;
  readonly #store: PairStore;
  readonly #progress: PairProgress;
  readonly #lag: Histogram;
  readonly #events: PairEvents;
  readonly #controller: Controller;
  readonly #execution: ExecutionContext;
  readonly #crd: CrdGuard;
  readonly #back: Disposable;

  constructor(bound: BoundResource) {
    const { type, consumer, runtime } = bound;
    const { clock, metrics, timing } = runtime;
    this.#bound = bound;
    this.#crd = new CrdGuard(consumer, type, clock);
    this.#lag = metrics.lag.labels({ resource: type.plural });
    this.#progress = new PairProgress(timing.overdueAfterMs);
    this.#events = new PairEvents(
      bound.events,
      this.#progress,
      timing.recordAfterMs,
      bound.provider.tenant.namespace,
    );
    this.#controller = createController(
      runtime,
      `sync ${type.plural}.${type.group}`,
      (key, context) => this.#measured(key, context),
      "adaptive",
      type.kind,
    );
    const caches = new PairCaches(bound, (key, priority, reason) =>
      this.#controller.enqueue(key, { priority, reason }),
    );
    this.#caches = caches;
    // Each of them may have a minute to wait.
    this.#back = bound.provider.pool.onBack(() => {
      for (const key of this.#progress.failing())
        this.#controller.enqueue(key, { priority: "normal", reason: wakeReasons.providerBack });
    });
    this.#store =
      runtime.naiveStore === true ? new NaivePairStore(bound, caches) : new DigestPairStore(bound, caches);
    this.#execution = {
      bound,
      caches,
      wasSeenGoing: (ref) => caches.wasSeenGoing(ref),
      created: new WeakSet(),
      onWrite: (step) => metrics.writes.labels({ resource: type.plural, step }).inc(),
    };
  }

  get type(): ResourceType {
    return this.#bound.type;
  }

  /** Number of keys that wait, for a retry too, or are worked on. */
  get pending(): number {
    return Math.max(this.#controller.pending, this.#progress.differing);
  }

  /** Returns the number of objects that unbinding has not finished with; undefined until the caches are filled. */
  remaining(): number | undefined {
    const { unbinding } = this.#bound;
    return unbinding === undefined ? undefined : this.#caches.remaining(unbinding);
  }

  /** Reconciles all pairs, because something that they all depend on has changed. */
  resync(): void {
    this.#caches.wakeAll(wakeReasons.resync);
  }

  /** Returns the number of upstream objects that the caches show. */
  get upstreamCount(): number {
    return this.#caches.upstreamCount();
  }

  /** Takes note of the versions that the caches of the provider have reached. */
  noteVersions(): void {
    this.#caches.providerInformer.noteVersions();
  }

  /** Reconciles these claims: the provider may take them now, or the words for its refusal changed. */
  wake(keys: readonly string[]): void {
    for (const key of keys) this.#controller.enqueue(key, { reason: wakeReasons.limitChanged });
  }

  /** Records a Warning on one of the claims, if it exists. */
  async recordWarning(key: string, reason: string, message: string): Promise<void> {
    const { events, type } = this.#bound;
    const claim = this.#caches.claims.get(key);
    if (claim !== undefined) events.recordWarning(stubOf(type, claim), reason, message);
  }

  /** Returns the namespaces of the app cluster that have a claim of this name. */
  namespacesOf(name: string): readonly string[] {
    return [...this.#caches.claims.informer.list()].flatMap(({ metadata }) =>
      metadata.name === name && metadata.namespace !== undefined ? [metadata.namespace] : [],
    );
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { informer } = this.#caches.claims;
    if (await isFilled(informer, signal)) {
      const deleting = [...informer.list()].filter(isDeleting).map(keyOf);
      this.#bound.breaker.setInitial(informer.size, deleting);
    }
    const { metrics } = this.#bound.runtime;
    using _shown = metrics.registry.read(declarations.claims, () => this.#countClaims());
    await this.#controller.start({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#bound.orphans.forgetAll(this.#bound.type);
    this.#back[Symbol.dispose]();
    await this.#caches[Symbol.asyncDispose]();
  }

  /** Computes the metric from two sizes: scraping must not cost more with more claims. */
  #countClaims(): readonly Sample<"resource" | "state">[] {
    const resource = this.#bound.type.plural;
    const { differing } = this.#progress;
    const all = this.#caches.claims.informer.size;
    return [
      { labels: { resource, state: "in_sync" }, value: Math.max(0, all - differing) },
      { labels: { resource, state: "pending" }, value: differing },
    ];
  }

  async #measured(key: string, call: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { metrics, clock } = this.#bound.runtime;
    const started = clock.monotonic();
    metrics.reconcileCount.count++;
    try {
      return await this.#reconcile(key, started, call);
    } catch (error) {
      this.#progress.differs(key, started);
      // The claim is held: the next reconcile says so in its status, and writes nothing else.
      if (error instanceof LimitReachedError) return { requeueAfterMs: 0, reason: wakeReasons.limitReached };
      throw error;
    }
  }

  /** Reconciles one pair: observe, plan, execute, remember. */
  async #reconcile(
    key: string,
    startedAt: number,
    call: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    const { signal } = call;
    const observe = (): Promise<Observation> =>
      this.#store.observe(key, signal, this.#progress.isOverdue(key, this.#now()));
    let observed = await observe();
    if (observed === "unknown") return undefined;
    if (observed === "gone" || observed === "inSync" || observed === "awaitsStatus")
      return this.#done(key, observed);
    this.#progress.differs(key, startedAt);

    let plan = this.#plan(observed);
    await this.#events.missingSecret(observed);
    const wasHeld = plan.waiting === "deletionHeld";
    if (wasHeld || deletesUpstream(plan)) {
      const settlesInMs = await this.#settlesInMs(observed, signal);
      const isHeld = settlesInMs === "held";
      if (!isHeld && settlesInMs > 0)
        return { requeueAfterMs: settlesInMs, reason: wakeReasons.deletionSettles };
      if (isHeld !== wasHeld) {
        // The claim's status is to say that it is held, which needs its content.
        observed = await observe();
        if (typeof observed === "string") return undefined;
        plan = this.#plan(observed);
        // The hold ended meanwhile: the deletion is judged again, for that may have been another hold.
        if (isHeld && deletesUpstream(plan)) return { requeueAfterMs: rejudgeMs };
      }
    }

    const written = await this.#carryOut(observed, plan, signal);
    if (written !== undefined && this.#bound.unbinding === undefined)
      for (const step of planAnswered(observed, written)) await this.#execute(observed, step, signal);

    const isSynced = isDone(observed, plan, written);
    if (isSynced) this.#store.rememberSynced(observed, written);
    return this.#wait(observed, plan, isSynced, call);
  }

  #plan(observed: PairObservation): PairPlan {
    const { unbinding } = this.#bound;
    if (observed.onlyStatusDiffers === true) return planStatusOnly(observed);
    return unbinding === undefined ? planPair(observed) : planUnbind(observed, unbinding);
  }

  /** Judges a deletion right before it is carried out: returns the time for which it has to wait for others, or that it is held. */
  async #settlesInMs(
    { ref, placed: { key } }: PairObservation,
    signal: AbortSignal,
  ): Promise<number | "held"> {
    const { breaker, unbinding, deletedNamespaces, releasedAt } = this.#bound;
    const isAll = unbinding === "Delete";
    const verdict: NamespaceVerdict = isAll
      ? { state: "free" }
      : await deletedNamespaces.judge(ref.namespace, releasedAt(), signal);
    if (verdict.state === "early") return rejudgeMs;
    breaker.judged(key, verdict);
    if (verdict.state === "held") return "held";
    const isConfirmed = verdict.state === "confirmed";
    const waitMs = isAll || isConfirmed ? 0 : breaker.waitMs(key);
    if (waitMs > 0) return waitMs;
    return (await this.#crd.mayDelete({ breaker, unbinding, isConfirmed }, signal)) ? 0 : "held";
  }

  /** Carries out the plan. Returns the upstream object as the last step left it; undefined when no step wrote it. */
  async #carryOut(
    observed: PairObservation,
    { steps }: PairPlan,
    signal: AbortSignal,
  ): Promise<DynamicObject | undefined> {
    let written: DynamicObject | undefined;
    for (const stage of stagesOf(steps)) {
      const outcomes = await Promise.allSettled(stage.map((step) => this.#execute(observed, step, signal)));
      for (const [index, outcome] of outcomes.entries()) {
        const what = stage[index]?.do;
        if (outcome.status === "fulfilled" && (what === "applyProvider" || what === "patchProvider"))
          written = outcome.value;
      }
      const failed = outcomes.find((outcome) => outcome.status === "rejected");
      if (failed === undefined) continue;
      if (written !== undefined && this.#execution.created.has(written))
        await this.#withdraw(observed, written, signal);
      throw failed.reason;
    }
    return written;
  }

  /**
   * Deletes the object that this reconcile made for a claim that was gone before its marks arrived. The rules for orphans decide about
   * anything less certain: a claim that still exists, a kind that is not served, deletions that are held.
   */
  async #withdraw(observed: PairObservation, made: DynamicObject, signal: AbortSignal): Promise<void> {
    const { breaker, consumer, type, unbinding } = this.#bound;
    await confirmCluster(consumer.client, consumer.uid, signal);
    const claim = await findSurely(consumer.client, type, observed.ref, signal);
    if (claim !== undefined && claim.metadata.uid === observed.consumer?.metadata.uid) return;
    if (!(await this.#crd.observe(signal)).isInForce) return;
    if (!(await this.#crd.mayDelete({ breaker, unbinding }, signal))) return;
    const step: Step = { do: "deleteProvider", ref: refOfObject(made), uid: made.metadata.uid ?? "" };
    await this.#execute(observed, step, signal);
  }

  /** Carries out one step. Returns undefined when the server answered with no object. */
  async #execute(
    observed: PairObservation,
    step: Step,
    signal: AbortSignal,
  ): Promise<DynamicObject | undefined> {
    try {
      const answer = await this.#controller.observeLatency(step.do, () =>
        executeStep(this.#execution, step, signal),
      );
      this.#events.carriedOut(observed, step, this.#now());
      if (answer !== undefined) this.#store.rememberWrite(observed, step, answer);
      if (isCreate(observed, step)) this.#bound.limit.created(observed.placed.key);
      return answer;
    } catch (error) {
      const refusal = isCreate(observed, step) ? quotaRefusalOf(error) : undefined;
      if (refusal !== undefined) {
        this.#bound.limit.refused(observed.placed.key, refusal);
        throw new LimitReachedError(error);
      }
      await this.#events.failed(observed, step, error);
      throw error;
    }
  }

  /** Ends a reconcile in which nothing has to be written, or not yet. */
  #done(key: string, why: "gone" | "inSync" | "awaitsStatus"): ReconcileResult | undefined {
    const { breaker, creations, orphans, type } = this.#bound;
    orphans.forget(type, key);
    creations.judged(key, false);
    if (why === "gone") {
      breaker.forget(key);
      this.#bound.limit.forget(key);
      this.#progress.forget(key);
      this.#caches.forget(key);
      return undefined;
    }
    const awaitsStatus = why === "awaitsStatus";
    const { overdueInMs } = this.#ended(key, { isSynced: true, awaitsStatus, isWaiting: false });
    return overdue(overdueInMs);
  }

  /** Ends a reconcile with a plan. The awaited change comes as an event; only its delay is recorded, and orphans are reconciled, after a time. */
  async #wait(
    observed: PairObservation,
    { waiting, awaitsStatus = false }: PairPlan,
    isSynced: boolean,
    call: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    const { orphans, type, providerType, breaker, creations } = this.#bound;
    const { key } = observed.placed;
    const { consumer, provider } = observed;
    if (waiting === "orphanConfirmation" && provider !== undefined) {
      const consumerRefs = this.#caches.places.claimKeysOf(provider).map(refOf);
      return orphans.reconcile(
        { type, providerType, key, consumerRefs, orphan: provider, breaker, crd: this.#crd },
        call,
      );
    }
    orphans.forget(type, key);
    creations.judged(key, waiting === "creationHeld");
    const isWaiting = waiting !== undefined && consumer !== undefined;
    const now = this.#now();
    const { overdueInMs, waitingSince: since = now } = this.#ended(
      key,
      { isSynced, awaitsStatus, isWaiting },
      now,
    );
    const answer = overdue(overdueInMs);
    if (!isWaiting) return answer;
    return sooner(answer, await this.#events.waits(observed, consumer, waiting, { since, now }));
  }

  #ended(key: string, outcome: PairOutcome, now: number = this.#now()): PairTimes {
    const times = this.#progress.ended(key, outcome, now);
    const { lagMs } = times;
    if (lagMs !== undefined) this.#lag.observe(lagMs / 1000);
    return times;
  }

  #now(): number {
    return this.#bound.runtime.clock.monotonic();
  }
}

/** A deletion is judged again after this while the claims of its namespace are not all known, or when its hold ended. */
const rejudgeMs = 500;

function deletesUpstream({ steps }: PairPlan): boolean {
  return steps.some((step) => step.do === "deleteProvider");
}

/** Returns true if both objects exist and nothing is left to be written. */
function isDone(
  { consumer, provider }: PairObservation,
  { waiting }: PairPlan,
  written: DynamicObject | undefined,
): boolean {
  const upstream = written ?? provider;
  return waiting === undefined && consumer !== undefined && upstream !== undefined && isBound(upstream);
}
