/**
 * Rotates the credentials of one binding: the next version is bound, the Secret gets its credentials, and the version before is unbound after
 * the grace time. Whatever goes wrong before the Secret has them leaves the old credentials as they are. Each version is an operation
 * (`operations/step.ts`) that records its failures instead of throwing them.
 */
import { bindingGenerationsAnnotation } from "@klutch/api";
import { type CallOptions, type ConnectionDetails, NotYetError } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { type BindOutcome, isConcurrency, isGone, isRefusal, OsbError, OsbTransportError } from "@klutch/osb";
import type { Broker } from "../../broker/brokers.ts";
import { maximumPollingSeconds } from "../../broker/plan-lookup.ts";
import { afterCall, brokerText, toExternalError } from "../../operations/answers.ts";
import { type Kind, Operations, outcomeOf, pollOf, type Slot } from "../../operations/operations.ts";
import type { Observed } from "../../operations/step.ts";
import {
  bindingIdOf,
  type CredentialVersions,
  type OldVersion,
  versionsChange,
} from "../../records/credential-versions.ts";
import type { Operation } from "../../records/operation.ts";
import { credentialsProblem, flattenCredentials } from "../connection.ts";
import type { BindingRef, BindingState } from "../state.ts";
import { isSameRequest, planRotation, type RotationPlan, type RotationStep } from "./plan.ts";

/** The service and plan that a version is bound with. */
export interface BoundPlan {
  readonly serviceId: string;
  readonly planId: string;
}

/** Everything that a rotation needs. */
export interface RotationOptions {
  readonly state: BindingState;
  readonly broker: Broker;
  readonly clock: Clock;
  /** Binds a version, the same each time; `predecessor` is told to brokers that rotate by themselves. */
  readonly bind: (
    ref: BindingRef,
    predecessor: string | undefined,
    options: CallOptions,
  ) => Promise<BindOutcome>;
  /** Returns the plan of the instance now. Throws `NotYetError` while nothing can be bound. */
  readonly bindablePlan: () => BoundPlan;
  /** Returns the Secret's content; undefined when there is none. */
  readonly published: (options: CallOptions) => Promise<ConnectionDetails | undefined>;
  /** Resolves when the Secret holds the details. */
  readonly publish: (details: ConnectionDetails, options: CallOptions) => Promise<void>;
}

type Credentials = Readonly<Record<string, unknown>>;

/** An operation that does not end by itself is given up then, when the plan does not say (OSB: the platform chooses). */
const longestPollSeconds = 3_600;
/** A version that is deleted is polled until it is gone. */
const untilGone = Number.POSITIVE_INFINITY;
const busyMs = 2_000;

/** Lives for one reconcile. */
export class Rotation {
  readonly #options: RotationOptions;
  readonly #state: BindingState;
  /** Good credentials of the next version, once this reconcile got them. */
  #fresh: Credentials | undefined;
  /** All versions once the next one is the current one. */
  #advanced: CredentialVersions | undefined;
  #waitsFor: string | undefined;

  constructor(options: RotationOptions) {
    this.#options = options;
    this.#state = options.state;
  }

  get plan(): RotationPlan {
    return planRotation(this.#versions, this.#state.wish, this.#now);
  }

  /** Reason, in words, why the requested rotation cannot begin yet. */
  get waitsFor(): string | undefined {
    return this.#waitsFor;
  }

  /** Does all that is due. What the broker refuses is recorded and tried again later; other errors are thrown. */
  async run(options: CallOptions): Promise<void> {
    const { annotations } = this.#state;
    for (let { step } = this.plan; step !== undefined; { step } = this.plan) {
      const before = annotations.get(bindingGenerationsAnnotation);
      await this.#take(step, options);
      if (annotations.get(bindingGenerationsAnnotation) === before) return;
    }
  }

  /** Unbinds all versions but the current one, as far as the broker does that at once. Returns whether they are gone. Throws the broker's errors. */
  async end(options: CallOptions): Promise<boolean> {
    const throwing: Pick<Kind, "failure"> = {
      failure: (error) => {
        throw error;
      },
    };
    const next = this.#next(throwing);
    const { type, phase, serviceId, planId } = next.current ?? {};
    if (type === "discard") await next.look(options);
    else if (type === "create" && phase !== "failed")
      await next.begin({ type: "discard", target: { serviceId, planId } }, options);
    if (this.#versions.next?.operation.phase === "failed") await next.forget();
    for (const old of this.#versions.old) await this.#old(old, throwing).look(options);
    return this.#versions.next === undefined && this.#versions.old.length === 0;
  }

  get #versions(): CredentialVersions {
    return this.#state.versions;
  }

  get #now(): number {
    return this.#options.clock.now();
  }

  async #take(step: RotationStep, options: CallOptions): Promise<void> {
    switch (step.do) {
      case "begin":
        return this.#begin(options);
      case "drop":
        return this.#next().forget();
      case "unbind":
        return void (await this.#old(step.old).look(options));
      case "goOn":
        return void (await this.#next().look(options));
    }
  }

  async #begin(options: CallOptions): Promise<void> {
    try {
      const target = this.#options.bindablePlan();
      await this.#next().begin({ type: "create", target }, options);
    } catch (error) {
      if (!(error instanceof NotYetError)) throw error;
      this.#waitsFor = error.message;
    }
  }

  #next(changes: Partial<Kind> = {}): Operations {
    return new Operations({
      ...this.#kind(this.#nextSlot(), () => this.#versions.current + 1),
      also: () => (this.#advanced === undefined ? {} : { done: versionsChange(this.#advanced) }),
      ...changes,
    });
  }

  #old({ number }: OldVersion, changes: Partial<Kind> = {}): Operations {
    return new Operations({ ...this.#kind(this.#oldSlot(number), () => number), ...changes });
  }

  #kind(slot: Slot, number: () => number): Kind {
    return {
      slot,
      retries: true,
      generation: this.#state.managed.metadata.generation,
      clock: this.#options.clock,
      explain: toExternalError,
      failure: failureOf,
      maxSeconds: async ({ type, planId }, options) => {
        if (type !== "create") return untilGone;
        return (await maximumPollingSeconds(this.#options.broker, planId, options)) ?? longestPollSeconds;
      },
      afterCall: (call, error, isRepeat) => {
        if (call === "poll" || call === "publish") return "repeat";
        return call === "create" && isRepeat && isRefusal(error)
          ? "discard"
          : afterCall(call, error, isRepeat);
      },
      call: async (call, { record }, options) => {
        const { serviceId = "", planId = "", key, type } = record ?? {};
        const ref = { ...this.#refOf(number()), serviceId, planId };
        if (call === "create") return this.#bind(ref, options);
        if (call === "publish") return this.#publish(ref, options);
        if (call === "delete") return outcomeOf(await this.#options.broker.osb.unbind(ref, options));
        const polled = await this.#poll(ref, key, options);
        return type === "create" && polled.kind === "done" ? this.#fetch(ref, options) : polled;
      },
    };
  }

  /** At a broker that rotates by itself the current binding is named as the one before. */
  async #bindOnce(ref: BindingRef, options: CallOptions): Promise<BindOutcome> {
    const { broker, bind } = this.#options;
    const { services } = await broker.catalog(options);
    const plans = services.flatMap((service) => service.plans);
    const isRotatable = plans.find(({ id }) => id === ref.planId)?.bindingRotatable === true;
    return bind(ref, isRotatable ? this.#state.ref.bindingId : undefined, options);
  }

  async #bind(ref: BindingRef, options: CallOptions): Promise<Observed> {
    const outcome = await this.#bindOnce(ref, options);
    return outcome.kind === "done" ? this.#judge(outcome.credentials, options) : outcomeOf(outcome);
  }

  async #fetch({ instanceId, bindingId }: BindingRef, options: CallOptions): Promise<Observed> {
    const { credentials } = await this.#options.broker.osb.fetchBinding(instanceId, bindingId, options);
    return this.#judge(credentials, options);
  }

  /** Credentials are looked at before anything is done with them. */
  async #judge(credentials: Credentials | undefined, options: CallOptions): Promise<Observed> {
    const published = await this.#options.published(options);
    const problem = credentialsProblem(flattenCredentials(credentials ?? {}), published);
    if (problem !== undefined) return { kind: "failed", description: problem };
    this.#fresh = credentials;
    return { kind: "made" };
  }

  async #poll(
    { bindingId, instanceId, serviceId, planId }: BindingRef,
    operation: string | undefined,
    options: CallOptions,
  ): Promise<Observed> {
    const plan = { serviceId: serviceId || undefined, planId: planId || undefined };
    const request = { instanceId, bindingId, operation, ...plan };
    try {
      return pollOf(await this.#options.broker.osb.lastOperation(request, options));
    } catch (error) {
      if (isGone(error)) return { kind: "gone" };
      throw error;
    }
  }

  /** The Secret first, then the record: from then on the grace time of the version before runs. */
  async #publish(ref: BindingRef, options: CallOptions): Promise<Observed> {
    const credentials = this.#fresh ?? (await this.#credentialsOf(ref, options));
    await this.#options.publish(flattenCredentials(credentials), options);
    const { current: number, old, next } = this.#versions;
    const { serviceId, planId } = this.#state.ref;
    const now = this.#now;
    const operation = { type: "delete", phase: "calling", startedAt: now, serviceId, planId } as const;
    this.#advanced = {
      current: number + 1,
      request: this.#state.wish.rotate ?? next?.request,
      rotatedAt: now,
      old: [...old, { number, replacedAt: now, operation }],
    };
    this.#state.updateAtProvider({ serviceID: ref.serviceId, planID: ref.planId });
    this.#state.adopt(credentials);
    return { kind: "done" };
  }

  /** Returns the credentials of a version that were good once. */
  async #credentialsOf(ref: BindingRef, options: CallOptions): Promise<Credentials> {
    const { broker } = this.#options;
    const { services } = await broker.catalog(options);
    if (services.find(({ id }) => id === ref.serviceId)?.bindingsRetrievable === true) {
      const { credentials } = await broker.osb.fetchBinding(ref.instanceId, ref.bindingId, options);
      if (credentials !== undefined) return credentials;
    }
    const outcome = await this.#bindOnce(ref, options);
    if (outcome.kind === "done") return outcome.credentials;
    throw new NotYetError("the broker makes what it had made already", { requeueAfterMs: 1_000 });
  }

  #refOf(number: number): BindingRef {
    return { ...this.#state.ref, bindingId: bindingIdOf(this.#state.managed, number) };
  }

  #nextSlot(): Slot {
    const state = this.#state;
    const current = (): Operation | undefined => {
      const { next } = state.versions;
      // Another request than the one that failed starts to count again.
      const isOld = next?.operation.phase === "failed" && !isSameRequest(next, state.wish);
      return isOld ? undefined : next?.operation;
    };
    return {
      get current() {
        return current();
      },
      async write(operation, also) {
        const { next, ...versions } = state.versions;
        const isNew = next === undefined || next.operation.phase === "failed";
        const request = (isNew ? state.wish.rotate : next.request) ?? "";
        const kept = operation === undefined ? undefined : { request, operation };
        await state.annotations.write({ ...versionsChange({ ...versions, next: kept }), ...also });
      },
    };
  }

  #oldSlot(number: number): Slot {
    const state = this.#state;
    return {
      get current() {
        return state.versions.old.find((old) => old.number === number)?.operation;
      },
      async write(operation) {
        const others = state.versions.old.flatMap((old) => {
          if (old.number !== number) return [old];
          return operation === undefined ? [] : [{ ...old, operation }];
        });
        await state.annotations.write(versionsChange({ ...state.versions, old: others }));
      },
    };
  }
}

/** Words and wait of what the broker answered, or did not. Throws any other error as it is. */
function failureOf(error: unknown): { readonly failure: string; readonly retryAfterMs?: number | undefined } {
  const isKnown =
    error instanceof OsbError || error instanceof OsbTransportError || error instanceof NotYetError;
  if (!isKnown) throw error;
  const waitMs = isConcurrency(error) ? busyMs : undefined;
  const retryAfterMs = (error instanceof OsbError ? error.retryAfterMs : undefined) ?? waitMs;
  return { failure: brokerText(error.message), retryAfterMs };
}
