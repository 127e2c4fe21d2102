/**
 * Rotates the credentials of one binding: the next generation is bound, the Secret gets its credentials, and the generation before is
 * unbound after the grace time. Whatever goes wrong before the Secret has them leaves the old credentials as they are.
 */
import { type CallOptions, type ConnectionDetails, NotYetError } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { type BindOutcome, isGone, isRefusal, type LastOperation } from "@klutch/osb";
import { afterCreate } from "../../operations/answers.ts";
import { brokerText } from "../../operations/broker-error.ts";
import type { Broker } from "../../broker/brokers.ts";
import { maximumPollingSeconds } from "../../broker/plan-lookup.ts";
import type { BindingRef, BindingState } from "../state.ts";
import { flattenCredentials } from "../connection.ts";
import { credentialsProblem } from "./credentials.ts";
import { failureOf, pollAt, retryAt } from "./failure.ts";
import { planRotation, type RotationPlan } from "./plan.ts";
import {
  bindingIdOf,
  type BoundPlan,
  type Generations,
  type NextGeneration,
  type OldGeneration,
} from "../../records/credential-versions.ts";

/** What a rotation needs. */
export interface RotationOptions {
  readonly state: BindingState;
  readonly broker: Broker;
  readonly clock: Clock;
  /** Binds a generation, the same each time; `predecessor` is told to brokers that rotate by themselves. */
  readonly bind: (
    ref: BindingRef,
    predecessor: string | undefined,
    options: CallOptions,
  ) => Promise<BindOutcome>;
  /** The plan of the instance now. Throws `NotYetError` while nothing can be bound. */
  readonly bindablePlan: () => BoundPlan;
  /** What the Secret holds; undefined when there is none. */
  readonly published: (options: CallOptions) => Promise<ConnectionDetails | undefined>;
  /** Resolves when the Secret holds the details. */
  readonly publish: (details: ConnectionDetails, options: CallOptions) => Promise<void>;
}

/** An operation that does not end by itself is given up then, when the plan does not say (OSB: the platform chooses). */
const longestPollSeconds = 3_600;

/** Lives for one reconcile. */
export class Rotation {
  readonly #options: RotationOptions;
  readonly #state: BindingState;
  /** Why nothing can be bound now, in words. */
  #waitsFor: string | undefined;

  constructor(options: RotationOptions) {
    this.#options = options;
    this.#state = options.state;
  }

  get plan(): RotationPlan {
    return planRotation(this.#generations, this.#state.wish, this.#now);
  }

  /** Why the rotation that is wanted cannot begin yet. */
  get waitsFor(): string | undefined {
    return this.#waitsFor;
  }

  /** Does all that is due. What the broker refuses is recorded and tried again later; other errors are thrown. */
  async run(options: CallOptions): Promise<void> {
    for (let { step } = this.plan; step !== undefined; { step } = this.plan) {
      const before = this.#generations;
      if (step.do === "unbind") await this.#unbindOld(step.old, options);
      else if (step.do === "drop") await this.#keep(undefined);
      else if (step.do === "bind") await this.#bind(options);
      else if (before.next !== undefined) await this.#goOn(step.do, before.next, options);
      if (this.#generations === before) return;
    }
  }

  /** Unbinds all generations but the current one, as far as the broker does that at once. Whether they are gone. */
  async end(options: CallOptions): Promise<boolean> {
    const { next } = this.#generations;
    if (next !== undefined && next.phase !== "failed") {
      const key = next.phase === "discarding" ? next.key : undefined;
      const left = await this.#unbind(this.#generations.current + 1, { ...next, key }, options);
      await this.#keep(left === "gone" ? undefined : { ...next, phase: "discarding", ...left });
    } else if (next !== undefined) await this.#keep(undefined);
    for (const old of this.#generations.old) {
      const left = await this.#unbind(old.number, old, options);
      await this.#keepOld(old, left === "gone" ? undefined : { ...old, ...left });
    }
    return this.#generations.next === undefined && this.#generations.old.length === 0;
  }

  get #generations(): Generations {
    return this.#state.generations;
  }

  get #now(): number {
    return this.#options.clock.now();
  }

  async #goOn(
    step: "poll" | "publish" | "discard",
    next: NextGeneration,
    options: CallOptions,
  ): Promise<void> {
    try {
      if (step === "poll") await this.#poll(next, options);
      else if (step === "publish")
        await this.#publish(next, await this.#credentialsOf(next, options), options);
      else await this.#discard(next, options);
    } catch (error) {
      await this.#keep({ ...next, ...this.#failed(next, error) });
    }
  }

  /** The intent is written before the call, and after it what came of it. */
  async #bind(options: CallOptions): Promise<void> {
    const { next: before } = this.#generations;
    const isRepeat = before?.phase === "calling";
    const next = isRepeat ? before : this.#begin(before);
    if (next === undefined) return;
    await this.#keep(next);
    let outcome: BindOutcome;
    try {
      outcome = await this.#bindAt(next, options);
    } catch (error) {
      const failed = { ...next, ...this.#failed(next, error) };
      const then = isRepeat && isRefusal(error) ? "discard" : afterCreate(error, isRepeat);
      const phase = ({ discard: "discarding", forget: "failed", repeat: "calling" } as const)[then];
      // What may be left is deleted at once.
      await this.#keep({ ...failed, phase, againAt: then === "discard" ? undefined : failed.againAt });
      return;
    }
    if (outcome.kind === "done") return this.#accept(next, outcome.credentials, options);
    const againAt = pollAt(next, this.#now, outcome.retryAfterMs);
    await this.#keep({ ...next, phase: "polling", key: outcome.operation ?? "", againAt });
  }

  /** Undefined while nothing can be bound. */
  #begin(before: NextGeneration | undefined): NextGeneration | undefined {
    const { rotate: request } = this.#state.wish;
    if (request === undefined) return undefined;
    try {
      const { bindablePlan } = this.#options;
      const tries = before?.request === request ? before.tries : 0;
      return { phase: "calling", request, startedAt: this.#now, ...bindablePlan(), tries };
    } catch (error) {
      if (!(error instanceof NotYetError)) throw error;
      this.#waitsFor = error.message;
      return undefined;
    }
  }

  /** At a broker that rotates by itself the current binding is named as the one before. */
  async #bindAt({ serviceId, planId }: BoundPlan, options: CallOptions): Promise<BindOutcome> {
    const { broker, bind } = this.#options;
    const { services } = await broker.catalog(options);
    const plans = services.flatMap((service) => service.plans);
    const isRotatable = plans.find(({ id }) => id === planId)?.bindingRotatable === true;
    const ref = { ...this.#refOf(this.#generations.current + 1), serviceId, planId };
    return bind(ref, isRotatable ? this.#state.ref.bindingId : undefined, options);
  }

  /** Credentials are looked at before anything is done with them. */
  async #accept(
    next: NextGeneration,
    credentials: Readonly<Record<string, unknown>> | undefined,
    options: CallOptions,
  ): Promise<void> {
    const published = await this.#options.published(options);
    const problem = credentialsProblem(flattenCredentials(credentials ?? {}), published);
    if (problem !== undefined || credentials === undefined) return this.#giveUp(next, problem ?? "");
    const made = { ...next, phase: "made", key: undefined, againAt: undefined } as const;
    await this.#keep(made);
    await this.#publish(made, credentials, options);
  }

  async #poll(next: NextGeneration, options: CallOptions): Promise<void> {
    const { broker } = this.#options;
    const maxSeconds = (await maximumPollingSeconds(broker, next.planId, options)) ?? longestPollSeconds;
    if (this.#now - next.startedAt > maxSeconds * 1_000)
      return this.#giveUp(next, `the broker did not finish within ${maxSeconds} s`);
    const last = await this.#lastOperation(this.#generations.current + 1, next, options);
    if (last === "gone")
      return this.#keep({ ...next, ...this.#said(next, "the broker does not know it"), phase: "failed" });
    if (last.state === "failed") return this.#giveUp(next, last.description || "the broker gave no reason");
    if (last.state === "in progress") {
      const againAt = pollAt(next, this.#now, last.retryAfterMs);
      return this.#keep({ ...next, againAt });
    }
    const { instanceId, bindingId } = this.#refOf(this.#generations.current + 1);
    const { credentials } = await broker.osb.fetchBinding(instanceId, bindingId, options);
    return this.#accept(next, credentials, options);
  }

  /** Of a generation that was good once. */
  async #credentialsOf(
    next: NextGeneration,
    options: CallOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { broker } = this.#options;
    const { services } = await broker.catalog(options);
    if (services.find(({ id }) => id === next.serviceId)?.bindingsRetrievable === true) {
      const { instanceId, bindingId } = this.#refOf(this.#generations.current + 1);
      const { credentials } = await broker.osb.fetchBinding(instanceId, bindingId, options);
      if (credentials !== undefined) return credentials;
    }
    const outcome = await this.#bindAt(next, options);
    if (outcome.kind === "done") return outcome.credentials;
    throw new NotYetError("the broker makes what it had made already", { requeueAfterMs: 1_000 });
  }

  /** The Secret first, then the record: from then on the grace time of the one before runs. */
  async #publish(
    next: NextGeneration,
    credentials: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<void> {
    await this.#options.publish(flattenCredentials(credentials), options);
    const { current: number, old } = this.#generations;
    const { serviceId, planId } = this.#state.ref;
    const now = this.#now;
    await this.#state.writeGenerations({
      current: number + 1,
      request: this.#state.wish.rotate ?? next.request,
      rotatedAt: now,
      old: [...old, { number, replacedAt: now, serviceId, planId, tries: 0 }],
    });
    this.#state.updateAtProvider({ serviceID: next.serviceId, planID: next.planId });
    this.#state.adopt(credentials);
  }

  async #giveUp(next: NextGeneration, words: string): Promise<void> {
    await this.#keep({ ...next, ...this.#said(next, words), phase: "discarding", againAt: undefined });
  }

  async #discard(next: NextGeneration, options: CallOptions): Promise<void> {
    const left = await this.#unbind(this.#generations.current + 1, next, options);
    const againAt = retryAt(next.tries, this.#now);
    await this.#keep(
      left === "gone" ? { ...next, phase: "failed", key: undefined, againAt } : { ...next, ...left },
    );
  }

  async #unbindOld(old: OldGeneration, options: CallOptions): Promise<void> {
    try {
      const left = await this.#unbind(old.number, old, options);
      await this.#keepOld(old, left === "gone" ? undefined : { ...old, ...left });
    } catch (error) {
      await this.#keepOld(old, { ...old, ...this.#failed(old, error) });
    }
  }

  /** Unbinds, or asks how the unbinding goes on. */
  async #unbind(
    number: number,
    one: BoundPlan & { readonly key?: string | undefined },
    options: CallOptions,
  ): Promise<"gone" | { readonly key: string | undefined; readonly againAt: number }> {
    const { osb } = this.#options.broker;
    const { serviceId, planId } = one;
    if (one.key !== undefined) {
      const last = await this.#lastOperation(number, one, options);
      if (last === "gone" || last.state === "succeeded") return "gone";
      const key = last.state === "failed" ? undefined : one.key;
      return { key, againAt: this.#now + (last.retryAfterMs ?? 5_000) };
    }
    try {
      const outcome = await osb.unbind({ ...this.#refOf(number), serviceId, planId }, options);
      if (outcome.kind === "done") return "gone";
      return { key: outcome.operation ?? "", againAt: this.#now + (outcome.retryAfterMs ?? 1_000) };
    } catch (error) {
      if (isGone(error)) return "gone";
      throw error;
    }
  }

  async #lastOperation(
    number: number,
    { key, serviceId, planId }: BoundPlan & { readonly key?: string | undefined },
    options: CallOptions,
  ): Promise<LastOperation | "gone"> {
    const { instanceId, bindingId } = this.#refOf(number);
    const plan = { serviceId: serviceId || undefined, planId: planId || undefined };
    const request = { instanceId, bindingId, operation: key === "" ? undefined : key, ...plan };
    try {
      return await this.#options.broker.osb.lastOperation(request, options);
    } catch (error) {
      if (isGone(error)) return "gone";
      throw error;
    }
  }

  #refOf(number: number): BindingRef {
    return { ...this.#state.ref, bindingId: bindingIdOf(this.#state.managed, number) };
  }

  /** Throws what is no answer of the broker. */
  #failed(one: { readonly tries: number }, error: unknown): ReturnType<typeof failureOf> {
    return failureOf(one, error, this.#now);
  }

  #said({ tries }: { readonly tries: number }, words: string): ReturnType<typeof failureOf> {
    return { tries: tries + 1, failure: brokerText(words), againAt: retryAt(tries + 1, this.#now) };
  }

  async #keep(next: NextGeneration | undefined): Promise<void> {
    await this.#state.writeGenerations({ ...this.#generations, next });
  }

  async #keepOld(old: OldGeneration, then: OldGeneration | undefined): Promise<void> {
    const others = this.#generations.old.flatMap((one) => (one.number === old.number ? [then] : [one]));
    const kept = others.filter((one) => one !== undefined);
    await this.#state.writeGenerations({ ...this.#generations, old: kept });
  }
}
