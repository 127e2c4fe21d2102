/** Observes one instance at its broker, by its operation (`operations/step.ts`) and, at rest, by what the broker has. */
import type { CallOptions, Observation } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { isGone } from "@klutch/osb";
import type { Broker } from "../broker/brokers.ts";
import { toExternalError } from "../operations/answers.ts";
import { failureMessage } from "../operations/operations.ts";
import type { Report, Working } from "../operations/step.ts";
import { livingPlan } from "../broker/plan-lookup.ts";
import { missingChange, nextInstanceChange } from "../records/annotations.ts";
import type { Operation } from "../records/operation.ts";
import { kubectlTarget } from "../provider-config/reference.ts";
import { decideLoss, type Losses, provisionAnewAnnotation, stepLoss } from "../operations/loss.ts";
import type { RestPace } from "../broker/rest-pace.ts";
import type { InstanceState } from "./state.ts";

/** Dependencies of the observer. */
export interface InstanceObserverOptions {
  readonly state: InstanceState;
  readonly broker: Broker;
  readonly clock: Clock;
  /** Counts the instances that are missing at the same broker. */
  readonly losses: () => Losses;
  /** Time between two observations of which both must say that the broker does not know the instance. */
  readonly confirmLossMs: number;
  /** Interval at which the broker is asked for the instance at rest. */
  readonly pace: RestPace;
}

/** Observes as often as asked; what it learns goes to the state. */
export class InstanceObserver {
  readonly #options: InstanceObserverOptions;
  readonly #state: InstanceState;

  constructor(options: InstanceObserverOptions) {
    this.#options = options;
    this.#state = options.state;
  }

  /** Errors of the broker reach the condition in its own words. */
  async observe(options: CallOptions): Promise<Observation> {
    try {
      return await this.#observe(await this.#state.operations.look(options), options);
    } catch (error) {
      throw toExternalError(error, "question");
    }
  }

  async #observe(said: Report, options: CallOptions): Promise<Observation> {
    switch (said.kind) {
      case "unanswered":
        return this.#observeUnanswered();
      case "working":
        return this.#observeProgress(said);
      case "failed":
        return this.#observeFailure(options);
      case "gone":
        return this.#observeGone(said.type, options);
      case "done":
        this.#state.updateAtProvider({ state: "provisioned" });
        this.#options.pace.forget(this.#paceKey);
        return this.#observeAtRest(options);
      case "rest":
      case "made":
      case "searching":
        return this.#observeAtRest(options);
    }
  }

  #observeUnanswered(): Observation {
    const state = this.#state;
    const known = state.atProvider.state ?? "unknown";
    if (state.isDeleting) return state.observation({ exists: true, ready: "unavailable" }, known);
    if (state.operation?.type === "create" || state.operation?.type === "discard")
      return state.observation({ exists: false, ...this.#retrying() }, "deploying");
    const { description: message } = state.operation ?? {};
    return state.observation(
      { exists: true, upToDate: false, ready: "unavailable", reason: "Changing", message },
      known,
    );
  }

  /** The operation ended, and the broker has nothing. */
  async #observeGone(type: Operation["type"], options: CallOptions): Promise<Observation> {
    const state = this.#state;
    switch (type) {
      case "discard":
        state.startNextInstance();
        return state.operation === undefined ? this.#observeAtRest(options) : this.#observeFailure(options);
      case "create":
        // Nothing was there yet that could be lost: the same call once more.
        return state.observation({ exists: false, ready: "creating" }, "deploying");
      case "delete":
        return state.observation({ exists: false, ready: "deleting" }, "deleted");
      case "update":
        return this.#observeMissing();
    }
  }

  /** While the instance is created again; says what failed until then. */
  #retrying(): Pick<Observation, "ready" | "message"> {
    const { failure } = this.#state.operation ?? {};
    if (failure === undefined) return { ready: "creating" };
    return { ready: "unavailable", message: `create failed: ${failure}` };
  }

  #observeProgress({ message, pollAfterMs }: Working): Observation {
    const state = this.#state;
    const { type, key, failure } = state.operation ?? {};
    const progress = { exists: true, upToDate: true, message, pollAfterMs, keepsBackOff: type === "discard" };
    if (type === "discard" && failure !== undefined && !state.isDeleting)
      return state.observation({ ...progress, ...this.#retrying() }, "failed", key);
    const deleting = type === "delete";
    const endsDeleted = deleting || (type === "discard" && state.isDeleting);
    const ready = endsDeleted ? "deleting" : type === "update" ? "unavailable" : "creating";
    const changes = type === "update" ? changing(state, progress) : {};
    return state.observation({ ...progress, ready, ...changes }, deleting ? "deleting" : "deploying", key);
  }

  async #observeFailure(options: CallOptions): Promise<Observation> {
    const state = this.#state;
    const type = state.operation?.type;
    const message = failureMessage(state.operation);
    const retry = { exists: false, ready: "creating", message } as const;
    const failed = { reason: "Failed", message, failure: message } as const;
    const keep = { exists: true, upToDate: true, ready: "unavailable", ...failed } as const;
    const pollAfterMs = state.operations.deletionWaitMs;
    if (pollAfterMs !== undefined) {
      const ready = state.isDeleting ? "deleting" : "unavailable";
      return state.observation({ ...keep, ready, pollAfterMs }, "failed");
    }
    if (state.isDeleting) return state.observation(keep, "failed");
    if (type === "discard") return state.observation(retry, "failed");
    if (type === "update") state.updateAtProvider(state.planIds());
    if (type === "update" && state.isOperationCurrent) {
      // The instance is as before; what the broker cannot do is not asked again until the spec changes.
      const observed = await this.#observeAtRest(options);
      return { ...observed, upToDate: true, message, failure: message };
    }
    if (type === "update") {
      await state.operations.forget();
      return this.#observeAtRest(options);
    }
    if (!state.isOperationCurrent) return state.observation(retry, "failed");
    // What it left is deleted (OSB "Orphan Mitigation"); the failure stays for people to see.
    return state.observation(state.hasLeftovers ? { ...keep, exists: false } : keep, "failed");
  }

  async #observeAtRest(options: CallOptions): Promise<Observation> {
    const state = this.#state;
    const { isDeleting } = state;
    const known = state.atProvider.state;
    // A provider may be killed between the record that it was made and the status. A second create is no question that every broker answers.
    const isUnknown = known === undefined && !state.wasProvisioned;
    if (isUnknown || (isDeleting && known === "deleted"))
      return state.observation({ exists: false, ready: isDeleting ? "deleting" : "creating" }, known);
    if (isDeleting) return state.observation({ exists: true, upToDate: true, ready: "unavailable" }, known);
    const catalog = await this.#options.broker.catalog(options);
    const plan = livingPlan(catalog, state.managed.spec.forProvider, state.made);
    const isThere = await this.#isThere(plan.instancesRetrievable, options);
    if (!isThere && state.hasLeftovers) return state.observation({ exists: false, ready: "creating" }, known);
    if (!isThere) return this.#observeMissing();
    if (known === undefined) state.updateAtProvider(state.planIds());
    const upToDate = state.atProvider.planId === plan.planId && state.parameterChanges() === undefined;
    // Also of an instance that another provider made.
    const sent = upToDate ? state.sentParameters().done : {};
    await state.annotations.write({ ...missingChange(undefined), ...sent });
    const found = { exists: true, upToDate, ready: "available", message: plan.notice } as const;
    return state.observation(found, "provisioned");
  }

  /** As the broker says, or as it last said when that is not long ago. */
  async #isThere(isRetrievable: boolean, options: CallOptions): Promise<boolean> {
    const { annotations, atProvider } = this.#state;
    const isMissing = annotations.missing !== undefined;
    if (!isRetrievable) return atProvider.state !== "deleted" && !isMissing;
    const isKnown = atProvider.state === "provisioned" && !isMissing;
    if (isKnown && !this.#options.pace.isDue(this.#paceKey)) return true;
    const isThere = await this.#fetch(options);
    if (isThere) this.#options.pace.asked(this.#paceKey);
    return isThere;
  }

  /** A change of the spec makes the instance due. */
  get #paceKey(): string {
    const { instanceId, managed } = this.#state;
    return `${instanceId}/${managed.metadata.generation ?? 0}`;
  }

  /** The broker does not know the instance: a person decides, because a new one would be empty. */
  async #observeMissing(): Promise<Observation> {
    const state = this.#state;
    const { clock, confirmLossMs, losses } = this.#options;
    const step = stepLoss(state.annotations.missing, clock.now(), confirmLossMs);
    await state.annotations.write(missingChange(step.missing));
    const keep = { exists: true, upToDate: true, ready: "unavailable" } as const;
    if (!step.missing.confirmed) {
      const message = `the broker does not know the instance ${state.instanceId} any more; it is asked once more`;
      return state.observation({ ...keep, message, pollAfterMs: step.observeAgainMs }, "unknown");
    }
    const target = kubectlTarget(state.managed);
    const permission = state.annotations.get(provisionAnewAnnotation);
    const decision = decideLoss({ target, instanceId: state.instanceId, permission, losses: losses() });
    if (decision.do === "hold")
      return state.observation({ ...keep, reason: "Lost", message: decision.message }, "lost");
    await state.annotations.write({
      ...nextInstanceChange(state.instanceId),
      ...state.usageEnd(),
      [provisionAnewAnnotation]: undefined,
    });
    state.startNextInstance();
    return state.observation({ exists: false, ready: "creating" }, undefined);
  }

  /** Takes over what the broker reports; false when it does not know the instance. */
  async #fetch(options: CallOptions): Promise<boolean> {
    const { instanceId, atProvider } = this.#state;
    try {
      const fetched = await this.#options.broker.osb.fetchInstance(instanceId, options);
      const { planId = atProvider.planId, serviceId = atProvider.serviceId, parameters } = fetched;
      this.#state.updateAtProvider({
        planId,
        serviceId,
        ...(parameters === undefined ? {} : { parameters }),
      });
      this.#state.measure(fetched.attributes);
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }
}

/** From which plan to which, as far as it was recorded, and what the broker says. */
function changing(
  { operation }: InstanceState,
  { message }: Pick<Observation, "message">,
): Pick<Observation, "reason" | "message"> {
  const said = [operation?.description, message].filter((text) => text !== undefined && text !== "");
  return { reason: "Changing", message: said.join(": ") || undefined };
}
