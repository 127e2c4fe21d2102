/**
 * Reconciles one kind of managed resources (Crossplane resource model v1).
 *
 * Order of a pass: paused? → finalizer and external name → connect → observe → (deleting: delete, or let go) → create or update →
 * publish the connection → status. The finalizer is there before anything is made, so a crash cannot leave something behind that
 * nobody remembers. Creating must be safe to repeat; nothing is ever frozen as undecided.
 */
import { type Clock, isConflict, type KubeClient, type Random } from "@klutch/kube";
import { type ResourceType, wholeSeconds } from "@klutch/kube-core";
import type { Informer, Reconcile, ReconcileContext, ReconcileResult } from "@klutch/kube-runtime";
import {
  type NewCondition,
  notSynced,
  paused,
  readyCondition,
  synced,
  withConditions,
} from "./conditions.ts";
import { mergePatchOf } from "./merge-patch.ts";
import { publishConnection, removeConnection } from "./connection-secret.ts";
import {
  type Connect,
  type ExternalClient,
  ExternalError,
  externalNameAnnotation,
  type Managed,
  NotYetError,
  type Observation,
  type Recorder,
} from "./external.ts";

/** Finalizer of Crossplane's managed resources. */
export const managedFinalizer = "finalizer.managedresource.crossplane.io";
const pausedAnnotation = "crossplane.io/paused";

/** Options of `createManagedReconcile`. */
export interface ManagedReconcilerOptions<M extends Managed> {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly informer: Informer<M>;
  readonly connect: Connect<M>;
  /** Whether nothing was ever made at the backend for the resource, so that its deletion needs no backend. Default: never sure. */
  readonly neverCreated?: ((managed: M) => boolean) | undefined;
  /** How often a resource that does not change is looked at. Default 60 000, with 10 % jitter. */
  readonly pollIntervalMs?: number | undefined;
  /** Longest duration of one pass. Default 90 000. */
  readonly deadlineMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** The reconcile function of the kind; keys are names. */
export function createManagedReconcile<M extends Managed>(options: ManagedReconcilerOptions<M>): Reconcile {
  return async (key, context) => {
    const managed = options.informer.get(key);
    if (managed === undefined) return undefined;
    const deadline = new AbortController();
    const limitMs = options.deadlineMs ?? 90_000;
    const cancel = options.clock.schedule(limitMs, () =>
      deadline.abort(new Error(`the backend did not answer within ${limitMs} ms`)),
    );
    try {
      const signal = AbortSignal.any([context.signal, deadline.signal]);
      return await new Pass(options, managed, { ...context, signal }, context.signal).run();
    } finally {
      cancel();
    }
  };
}

/** One pass over one managed resource. */
class Pass<M extends Managed> {
  readonly #options: ManagedReconcilerOptions<M>;
  readonly #context: ReconcileContext;
  /** Outlives the deadline, so that a pass that took too long can still say so. */
  readonly #reportSignal: AbortSignal;
  #managed: M;

  constructor(
    options: ManagedReconcilerOptions<M>,
    managed: M,
    context: ReconcileContext,
    reportSignal: AbortSignal,
  ) {
    this.#options = options;
    this.#managed = managed;
    this.#context = context;
    this.#reportSignal = reportSignal;
  }

  async run(): Promise<ReconcileResult | undefined> {
    const { annotations = {}, deletionTimestamp, finalizers = [] } = this.#managed.metadata;
    if (annotations[pausedAnnotation] === "true") {
      await this.#writeStatus([paused]);
      return undefined;
    }
    const deleting = deletionTimestamp !== undefined;
    if (deleting && !finalizers.includes(managedFinalizer)) return undefined;
    if (!deleting) await this.#ensureBookkeeping();
    try {
      return deleting ? await this.#delete() : await this.#ensure();
    } catch (error) {
      return this.#report(error);
    }
  }

  async #ensure(): Promise<ReconcileResult> {
    const external = await this.#step("connect", () => this.#connect());
    let observed = await this.#step("observe", () => external.observe(this.#context));
    if (observed.revoked === true) await removeConnection(this.#options.client, this.#managed, this.#context);
    if (!observed.exists && this.#may("Create")) {
      await this.#step("create", () => external.create(this.#context));
      observed = await this.#step("observe", () => external.observe(this.#context));
    } else if (observed.exists && !observed.upToDate && this.#may("Update")) {
      await this.#step("update", () => external.update(this.#context));
      observed = await this.#step("observe", () => external.observe(this.#context));
    }
    await publishConnection(this.#options.client, this.#managed, observed.connection, this.#context);
    await this.#writeStatus([synced, readyCondition(observed.ready, observed.message)], observed.status);
    return { requeueAfterMs: this.#pollAfter(observed) };
  }

  async #delete(): Promise<ReconcileResult | undefined> {
    const keeps = this.#managed.spec.deletionPolicy === "Orphan" || !this.#may("Delete");
    if (!keeps && this.#options.neverCreated?.(this.#managed) !== true) {
      const external = await this.#step("connect", () => this.#connect());
      let observed = await this.#step("observe", () => external.observe(this.#context));
      if (observed.exists && observed.ready !== "deleting") {
        await this.#step("delete", () => external.delete(this.#context));
        observed = await this.#step("observe", () => external.observe(this.#context));
      }
      if (observed.exists) {
        await this.#writeStatus([synced, readyCondition("deleting", observed.message)], observed.status);
        return { requeueAfterMs: this.#pollAfter(observed) };
      }
      await removeConnection(this.#options.client, this.#managed, this.#context);
    }
    await this.#patchMetadata({
      finalizers: (this.#managed.metadata.finalizers ?? []).filter((name) => name !== managedFinalizer),
    });
    this.#context.logger.info("external resource is gone", { kind: this.#managed.kind });
    return undefined;
  }

  #connect(): Promise<ExternalClient> {
    const record: Recorder = async (annotations) => {
      const patch = Object.entries(annotations).map(([name, value]) => [name, value ?? null] as const);
      await this.#patchMetadata({ annotations: Object.fromEntries(patch) });
    };
    return this.#options.connect(this.#managed, { signal: this.#context.signal, record });
  }

  /** Finalizer and external name, in one write and only when missing. */
  async #ensureBookkeeping(): Promise<void> {
    const { finalizers = [], annotations = {}, name = "" } = this.#managed.metadata;
    const hasFinalizer = finalizers.includes(managedFinalizer);
    if (hasFinalizer && annotations[externalNameAnnotation] !== undefined) return;
    await this.#patchMetadata({
      ...(hasFinalizer ? {} : { finalizers: [...finalizers, managedFinalizer] }),
      annotations: { [externalNameAnnotation]: annotations[externalNameAnnotation] ?? name },
    });
  }

  /** Guarded by the resourceVersion, so that a stale cache cannot undo what somebody else wrote. */
  async #patchMetadata(metadata: object): Promise<void> {
    const { name = "", resourceVersion } = this.#managed.metadata;
    const patch = { metadata: { ...metadata, resourceVersion } };
    this.#managed = await this.#options.client.mergePatch<M>(
      this.#options.type,
      { name },
      patch,
      this.#context,
    );
  }

  async #writeStatus(
    changes: readonly NewCondition[],
    fields: Readonly<Record<string, unknown>> = {},
    signal: AbortSignal = this.#context.signal,
  ): Promise<void> {
    const { clock, client, type } = this.#options;
    const now = wholeSeconds(clock.now());
    const status = {
      ...this.#managed.status,
      ...fields,
      conditions: withConditions(this.#managed, changes, now),
    };
    const patch = mergePatchOf(this.#managed.status ?? {}, status);
    if (patch === undefined) return;
    const { name = "" } = this.#managed.metadata;
    this.#managed = await client.mergePatch<M>(
      type,
      { name },
      { status: patch },
      { signal, subresource: "status" },
    );
  }

  async #report(error: unknown): Promise<ReconcileResult | undefined> {
    if (isConflict(error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    await this.#writeStatus([notSynced(message)], {}, this.#reportSignal);
    if (error instanceof NotYetError) return { requeueAfterMs: error.lookAgainMs };
    throw error;
  }

  /** Names the step in the error, as Crossplane's runtime does. */
  async #step<T>(name: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (cause) {
      if (isConflict(cause)) throw cause;
      const reason: unknown = this.#context.signal.aborted ? this.#context.signal.reason : cause;
      const text = reason instanceof Error ? reason.message : String(reason);
      const message = `${name} failed: ${text}`;
      if (cause instanceof NotYetError)
        throw new NotYetError(message, { cause, lookAgainMs: cause.lookAgainMs });
      const retryAfterMs = cause instanceof ExternalError ? cause.retryAfterMs : undefined;
      throw new ExternalError(message, { cause, retryAfterMs });
    }
  }

  #may(action: string): boolean {
    const policies = this.#managed.spec.managementPolicies ?? ["*"];
    return policies.includes("*") || policies.includes(action);
  }

  #pollAfter(observed: Observation): number {
    if (observed.pollAfterMs !== undefined) return observed.pollAfterMs;
    const interval = this.#options.pollIntervalMs ?? 60_000;
    return interval * (0.9 + 0.2 * this.#options.random());
  }
}
