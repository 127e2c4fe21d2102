/** Observes one binding at its broker, by its operation (`operations/step.ts`) and, at rest, by its credentials. */
import type { ServiceInstance } from "@klutch/api";
import type { CallOptions, Observation } from "@klutch/crossplane";
import type { Clock } from "@klutch/kube";
import { isGone } from "@klutch/osb";
import type { Broker } from "../broker/brokers.ts";
import { toExternalError } from "../operations/answers.ts";
import { failureMessage } from "../operations/operations.ts";
import type { Report } from "../operations/step.ts";
import { missingChange, missingOf } from "../records/annotations.ts";
import { stepLoss } from "../operations/loss.ts";
import type { RestPace } from "../broker/rest-pace.ts";
import type { Rotation } from "./rotation/rotation.ts";
import { rotationFailure, toldRotation } from "./rotation/plan.ts";
import type { BindingState } from "./state.ts";

/** When to look again for what cannot be rotated yet. */
const retryMs = 5_000;
const shortestMs = 200;

/** Dependencies of the observer. */
export interface BindingObserverOptions {
  readonly state: BindingState;
  readonly rotation: Rotation;
  readonly broker: Broker;
  readonly clock: Clock;
  /** The instance that the binding names, in the same claim namespace. */
  readonly instance: () => ServiceInstance | undefined;
  /** True when the Secret that should hold the credentials is missing. */
  readonly secretIsMissing: (options: CallOptions) => Promise<boolean>;
  /** Time between two observations of which both must say that the broker does not know the binding. */
  readonly confirmLossMs: number;
  /** Interval at which the broker is asked for the binding at rest. */
  readonly pace: RestPace;
  /** Interval at which the binding is observed at rest. */
  readonly pollIntervalMs: number;
}

/** Observes as often as asked; what it learns goes to the state. */
export class BindingObserver {
  readonly #options: BindingObserverOptions;
  readonly #state: BindingState;

  constructor(options: BindingObserverOptions) {
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
    const state = this.#state;
    const { isDeleting, operation, atProvider } = state;
    switch (said.kind) {
      case "unanswered": {
        const ready = isDeleting ? "unavailable" : "creating";
        return state.observation({ exists: isDeleting, ready }, atProvider.state);
      }
      case "working": {
        const { message, pollAfterMs } = said;
        const deleting = operation?.type === "delete";
        const keepsBackOff = operation?.type === "discard";
        const progress = { exists: true, upToDate: true, message, pollAfterMs, keepsBackOff };
        const ready = deleting ? "deleting" : "creating";
        return state.observation({ ...progress, ready }, deleting ? "Deleting" : "Pending");
      }
      case "failed":
        return this.#observeFailure();
      case "gone": {
        if (said.type === "discard")
          return operation === undefined ? this.#observeAtRest(options) : this.#observeFailure();
        const ready = said.type === "delete" ? "deleting" : "unavailable";
        return state.observation({ exists: false, ready }, "Deleted");
      }
      case "done":
        state.updateAtProvider({ state: "Created" });
        await this.#fetch(options);
        return this.#observeAtRest(options);
      case "rest":
      case "made":
      case "searching":
        return this.#observeAtRest(options);
    }
  }

  /** A create is tried again when the spec changed; what it left is deleted at once (OSB "Orphan Mitigation"). */
  #observeFailure(): Observation {
    const { operation, operations, managed, isDeleting, hasLeftovers } = this.#state;
    const { type, generation } = operation ?? {};
    const isCreate = type === "create" && (hasLeftovers || generation !== managed.metadata.generation);
    const again = (isCreate || type === "discard") && !isDeleting;
    const message = failureMessage(operation);
    const pollAfterMs = operations.deletionWaitMs;
    const isWaiting = pollAfterMs !== undefined;
    return this.#state.observation(
      {
        exists: !again || isWaiting,
        upToDate: true,
        ready: isWaiting && isDeleting ? "deleting" : "unavailable",
        pollAfterMs,
        reason: "Failed",
        message,
        failure: message,
      },
      "Pending",
    );
  }

  async #observeAtRest(options: CallOptions): Promise<Observation> {
    const state = this.#state;
    const known = state.atProvider.state;
    const isThere = known === "Created" || (state.isDeleting && state.wasBound);
    if (!isThere)
      return state.observation({ exists: false, ready: state.isDeleting ? "deleting" : "creating" }, known);
    if (state.isDeleting)
      return state.observation({ exists: true, ready: "unavailable", pollAfterMs: this.#wakeMs() }, known);
    const isRetrievable = await this.#isRetrievable(options);
    const { bindingId } = state.ref;
    // The Secret may hold the next credentials already.
    const isReplaced = state.versions.next?.operation.phase === "made";
    const isDue =
      !isReplaced && (state.annotations.missing !== undefined || this.#options.pace.isDue(bindingId));
    const isMissing = state.connection === undefined && (await this.#options.secretIsMissing(options));
    const found = (isRetrievable && isDue) || isMissing ? await this.#fetch(options) : "fetched";
    if (found === "unknown" && isRetrievable) return this.#observeMissing(options);
    if (found !== "fetched" && isMissing) {
      // The broker does not give the credentials: binding again does.
      return state.observation({ exists: false, ready: "unavailable" }, "Pending");
    }
    await state.annotations.write(missingChange(undefined));
    return this.#observeRotation();
  }

  /** The credentials in the Secret work, whatever becomes of newer ones. */
  #observeRotation(): Observation {
    const state = this.#state;
    const { rotation } = this.#options;
    const failure = rotationFailure(state.versions, state.wish, rotation.waitsFor);
    state.updateAtProvider({ rotation: toldRotation(state.versions, state.wish) });
    const finding = {
      exists: true,
      ready: "available",
      failure,
      failureReason: "RotationIncomplete",
    } as const;
    const upToDate = rotation.plan.step === undefined;
    return state.observation({ ...finding, upToDate, pollAfterMs: this.#wakeMs() }, "Created");
  }

  /** When a rotation has something to do before the next observation at rest; undefined: it has not. */
  #wakeMs(): number | undefined {
    const { clock, pollIntervalMs, rotation, state } = this.#options;
    const { next, old } = state.versions;
    const times = [next, ...old].flatMap((one) => (state.isDeleting ? [one?.operation.againAt] : []));
    const { step, wakeAt } = rotation.plan;
    const soonest = Math.min(...[...times, wakeAt].filter((at) => at !== undefined));
    const untilDue = soonest - clock.now();
    const isHeld = step !== undefined && rotation.waitsFor !== undefined && !state.isDeleting;
    const waitMs = isHeld ? retryMs : untilDue;
    return waitMs < pollIntervalMs ? Math.max(waitMs, shortestMs) : undefined;
  }

  /**
   * The broker does not know the binding: its credentials are dead, so they are taken away and new ones are made; nothing is lost
   * with them. Not while the instance is missing too: then the broker may look at other data, and the credentials still work.
   */
  async #observeMissing(options: CallOptions): Promise<Observation> {
    const state = this.#state;
    const keep = { exists: true, upToDate: true, ready: "unavailable" } as const;
    if (await this.#instanceIsMissing(options)) {
      const { instanceName } = state.managed.spec.forProvider;
      const message = `the instance ${instanceName} is lost at its broker, and this binding with it; see the instance`;
      return state.observation({ ...keep, reason: "Lost", message }, "Created");
    }
    const { clock, confirmLossMs } = this.#options;
    const step = stepLoss(state.annotations.missing, clock.now(), confirmLossMs);
    await state.annotations.write(missingChange(step.missing));
    if (!step.missing.confirmed) {
      const message = "the broker does not know the binding any more; it is asked once more";
      return state.observation({ ...keep, message, pollAfterMs: step.observeAgainMs }, "Created");
    }
    return state.observation({ exists: false, ready: "creating", revoked: true }, "Created");
  }

  async #instanceIsMissing(options: CallOptions): Promise<boolean> {
    const { broker } = this.#options;
    const instance = this.#options.instance();
    const { instanceId, serviceId } = instance?.status?.atProvider ?? {};
    if (instance === undefined || instanceId === undefined) return true;
    if (missingOf(instance.metadata.annotations) !== undefined) return true;
    const { services } = await broker.catalog(options);
    if (services.find(({ id }) => id === serviceId)?.instancesRetrievable !== true) return false;
    try {
      await broker.osb.fetchInstance(instanceId, options);
      return false;
    } catch (error) {
      if (isGone(error)) return true;
      throw error;
    }
  }

  async #isRetrievable(options: CallOptions): Promise<boolean> {
    const { services } = await this.#options.broker.catalog(options);
    return services.find(({ id }) => id === this.#state.atProvider.serviceID)?.bindingsRetrievable === true;
  }

  /** Fetches the credentials from the broker; `withheld` when it knows the binding but has none for us. */
  async #fetch(options: CallOptions): Promise<"fetched" | "withheld" | "unknown"> {
    const { instanceId, bindingId } = this.#state.ref;
    try {
      const { credentials } = await this.#options.broker.osb.fetchBinding(instanceId, bindingId, options);
      if (credentials === undefined) return "withheld";
      this.#state.adopt(credentials);
      this.#options.pace.asked(bindingId);
      return "fetched";
    } catch (error) {
      if (isGone(error)) return "unknown";
      throw error;
    }
  }
}
