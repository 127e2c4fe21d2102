/**
 * Reconciles one kind of managed resources (Crossplane resource model v1).
 *
 * Observe → plan → execute → remember. The finalizer is there before anything is made, so a crash cannot leave anything behind
 * without a trace. Creating must be safe to repeat; nothing is ever frozen as undecided.
 */
import { type Clock, isConflict, type KubeClient, type Random } from "@klutch/kube";
import type { ResourceType } from "@klutch/kube-core";
import type { Informer, Reconcile, ReconcileContext, ReconcileResult } from "@klutch/kube-runtime";
import { notSynced, paused, readyCondition, standingProblem, synced } from "./conditions.ts";
import { publishConnection, removeConnection } from "./connection-secret.ts";
import type { Metrics } from "@klutch/telemetry";
import {
  type CallOptions,
  type Connect,
  type ExternalClient,
  ExternalError,
  type Managed,
  NotYetError,
  type Observation,
} from "./external.ts";
import { ManagedObject } from "./managed-object.ts";
import { ManagedTimes } from "./measures.ts";
import { type Action, isDeleting, planAction, planBeginning } from "./plan.ts";

/** Options of `createManagedReconcile`. */
export interface ManagedReconcilerOptions<M extends Managed> {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly informer: Informer<M>;
  readonly connect: Connect<M>;
  /** Reports whether nothing was ever made at the backend for the resource, so that its deletion needs no backend. Default: never sure. */
  readonly neverCreated?: ((managed: M) => boolean) | undefined;
  /**
   * Keeps what must outlive the managed resource. The finalizer stays until it resolves; it is called again after a crash. Default: nothing is
   * kept.
   */
  readonly beforeRelease?: ((managed: M, options: CallOptions) => Promise<void>) | undefined;
  /** Told of each problem that `Synced` shows; `deleting`: the resource is being deleted. Must not throw. Default: no one is told. */
  readonly onProblem?: ((managed: M, problem: Problem, deleting: boolean) => void) | undefined;
  /** Interval at which an unchanged resource is observed. Default 60 000; up to a fifth longer, so that observations spread. */
  readonly pollIntervalMs?: number | undefined;
  /** Longest duration of one reconcile. Default 90 000. */
  readonly deadlineMs?: number | undefined;
  /** Takes Crossplane's metrics of the time that resources need. Default: nothing is measured. */
  readonly metrics?: Metrics | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** The reasons of `Synced` False. */
export interface Problem {
  /** One word, when the external client has one for it. */
  readonly reason: string | undefined;
  readonly message: string;
}

/** The reconcile function of the kind; keys are those of the informer. */
export function createManagedReconcile<M extends Managed>(options: ManagedReconcilerOptions<M>): Reconcile {
  const { metrics, clock, informer } = options;
  const times = metrics && new ManagedTimes(metrics, clock, informer);
  return async (key, context) => {
    const managed = informer.get(key);
    if (managed === undefined) return undefined;
    times?.begins(managed);
    const deadline = new AbortController();
    const limitMs = options.deadlineMs ?? 90_000;
    const cancel = options.clock.schedule(limitMs, () =>
      deadline.abort(new Error(`the backend did not answer within ${limitMs} ms`)),
    );
    try {
      const signal = AbortSignal.any([context.signal, deadline.signal]);
      return await new ManagedReconciler({ ...options, times }, managed, context, signal).reconcile();
    } finally {
      cancel();
    }
  };
}

type Options<M extends Managed> = ManagedReconcilerOptions<M> & { readonly times: ManagedTimes | undefined };

/** One reconcile of one managed resource. */
class ManagedReconciler<M extends Managed> {
  readonly #options: Options<M>;
  readonly #context: ReconcileContext;
  /** Ends with the deadline. */
  readonly #signal: AbortSignal;
  readonly #object: ManagedObject<M>;
  /** The external resource at the backend, although its credentials may not be in the Secret. */
  #found: Observation["status"];
  /** As it was at the beginning: a deletion that comes meanwhile has a reconcile of its own. */
  readonly #deleting: boolean;

  constructor(options: Options<M>, managed: M, context: ReconcileContext, signal: AbortSignal) {
    this.#options = options;
    this.#context = context;
    this.#signal = signal;
    this.#object = new ManagedObject(managed, options, signal);
    this.#deleting = isDeleting(managed);
  }

  async reconcile(): Promise<ReconcileResult | undefined> {
    const { neverCreated = () => false } = this.#options;
    const { current } = this.#object;
    const beginning = planBeginning(current, () => neverCreated(current));
    if (beginning === "ignore") return undefined;
    if (beginning === "pause") {
      await this.#object.writeStatus([paused]);
      return undefined;
    }
    if (!this.#deleting) await this.#object.addFinalizerAndName();
    try {
      return beginning === "release" ? await this.#release() : await this.#reconcileExternal();
    } catch (error) {
      return this.#report(error);
    }
  }

  async #reconcileExternal(): Promise<ReconcileResult | undefined> {
    const external = await this.#step("connect", () => this.#connect());
    const observed = await this.#observe(external);
    const action = planAction(this.#object.current, this.#deleting, observed);
    if (action === "update") this.#options.times?.differs(this.#object.current);
    return this.#remember(action === undefined ? observed : await this.#execute(external, action));
  }

  #connect(): Promise<ExternalClient> {
    return this.#options.connect(this.#object.current, {
      signal: this.#signal,
      updateCriticalAnnotations: (annotations) => this.#object.updateAnnotations(annotations),
    });
  }

  async #observe(external: ExternalClient): Promise<Observation> {
    const observed = await this.#step("observe", () => external.observe({ signal: this.#signal }));
    if (observed.revoked === true && !this.#deleting) await this.#removeConnection();
    return observed;
  }

  /** Acts, and observes again. */
  async #execute(external: ExternalClient, action: Action): Promise<Observation> {
    await this.#step(action, () => external[action]({ signal: this.#signal }));
    return this.#step("observe", () => external.observe({ signal: this.#signal }));
  }

  /** Secret, status and when to come again; or the end of a deletion. */
  async #remember(observed: Observation): Promise<ReconcileResult | undefined> {
    if (this.#deleting && !observed.exists) {
      await this.#removeConnection();
      return this.#release();
    }
    const options = { signal: this.#signal };
    this.#found = observed.status;
    if (!this.#deleting)
      await publishConnection(this.#options.client, this.#object.current, observed.connection, options);
    const ready = this.#deleting
      ? readyCondition("deleting", observed.message)
      : readyCondition(observed.ready, observed.message, observed.reason);
    const { failure, failureReason: reason = "Failed" } = observed;
    const rest = observed.keepsBackOff === true ? (standingProblem(this.#object.current) ?? synced) : synced;
    const sync = failure === undefined ? rest : notSynced(failure, reason);
    await this.#object.writeStatus([sync, ready], observed.status);
    if (failure !== undefined) this.#tell({ reason, message: failure });
    else this.#options.times?.succeeds(this.#object.current, ready.status === "True");
    return { requeueAfterMs: this.#pollAfterMs(observed), keepsBackOff: observed.keepsBackOff };
  }

  /** Nothing holds the managed resource any more. */
  async #release(): Promise<undefined> {
    const { beforeRelease } = this.#options;
    if (beforeRelease !== undefined)
      await this.#step("release", () => beforeRelease(this.#object.current, { signal: this.#signal }));
    await this.#object.removeFinalizer();
    this.#options.times?.released(this.#object.current);
    this.#context.logger.info("external resource is gone", { kind: this.#object.current.kind });
  }

  #removeConnection(): Promise<void> {
    return removeConnection(this.#options.client, this.#object.current, { signal: this.#signal });
  }

  /** Brings the error to the condition, also one of the deadline, and lets the work queue try again. */
  async #report(error: unknown): Promise<ReconcileResult | undefined> {
    if (isConflict(error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const reason = error instanceof ExternalError ? error.reason : undefined;
    await this.#object.writeStatus([notSynced(message, reason)], this.#found, this.#context.signal);
    this.#tell({ reason, message });
    if (error instanceof NotYetError) return { requeueAfterMs: error.requeueAfterMs };
    throw error;
  }

  #tell(problem: Problem): void {
    this.#options.onProblem?.(this.#object.current, problem, this.#deleting);
  }

  /** Names the step in the error, as Crossplane's runtime does. */
  async #step<T>(name: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (cause) {
      if (isConflict(cause)) throw cause;
      const reason: unknown = this.#signal.aborted ? this.#signal.reason : cause;
      const text = reason instanceof Error ? reason.message : String(reason);
      const message = `${name} failed: ${text}`;
      const { reason: word } = cause instanceof ExternalError ? cause : { reason: undefined };
      if (cause instanceof NotYetError)
        throw new NotYetError(message, { cause, requeueAfterMs: cause.requeueAfterMs, reason: word });
      const retryAfterMs = cause instanceof ExternalError ? cause.retryAfterMs : undefined;
      throw new ExternalError(message, { cause, retryAfterMs, reason: word });
    }
  }

  #pollAfterMs({ pollAfterMs }: Observation): number {
    const { pollIntervalMs = 60_000, random } = this.#options;
    return pollAfterMs ?? pollIntervalMs * (1 + 0.2 * random());
  }
}
