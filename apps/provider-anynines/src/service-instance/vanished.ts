/**
 * Finds instances that are left at a broker because their managed resource vanished without being deleted as it should: an API server can do so
 * when a deletion meets the first finalizer, and a person can by taking the finalizers away. Nothing is deleted: they are named in the log and
 * in Events, and counted until the broker does not have them any more.
 *
 * | the managed resource                                   | then                                  |
 * |--------------------------------------------------------|---------------------------------------|
 * | had a deletion timestamp when it went                  | it went as it should                  |
 * | is to be orphaned, or was never asked for at a broker  | nothing is left that should not be    |
 * | else                                                   | its usage is kept, then the broker is asked |
 *
 * | the broker                               | then                                                    |
 * |------------------------------------------|---------------------------------------------------------|
 * | still works on it                        | asked again soon                                        |
 * | does not know it                         | forgotten                                               |
 * | knows it, or cannot say                  | reported once, counted, and asked again every ten minutes |
 */
import type { ServiceInstance } from "@klutch/api";
import { type CallOptions, isOrphaned } from "@klutch/crossplane";
import type { Reconcile } from "@klutch/kube-runtime";
import { isGone, OsbError } from "@klutch/osb";
import type { Metrics } from "@klutch/telemetry";
import type { Broker } from "../broker/brokers.ts";
import * as declarations from "../metrics.ts";
import { configNameOf } from "../provider-config/reference.ts";
import { instanceIdOf, provisionedAs, wasNeverProvisioned } from "../records/annotations.ts";
import { recordedOperation } from "../records/operation.ts";

/** An instance that may be left at its broker. */
export interface Vanished {
  readonly config: string;
  readonly instanceId: string;
  /** The managed resource as it was last. */
  readonly managed: ServiceInstance;
  readonly plan: { readonly serviceId?: string | undefined; readonly planId?: string | undefined };
}

/** Returns the external resource that a vanished managed resource may have left; undefined when it was deleted as it should be. */
export function vanishedInstance(object: ServiceInstance): Vanished | undefined {
  if (object.metadata.deletionTimestamp !== undefined || isOrphaned(object)) return undefined;
  if (wasNeverProvisioned(object)) return undefined;
  const { serviceId, planId } = object.status?.atProvider ?? {};
  const known = recordedOperation(object) ?? provisionedAs(object.metadata.annotations);
  return {
    config: configNameOf(object),
    instanceId: instanceIdOf(object),
    managed: object,
    plan: { serviceId: serviceId ?? known?.serviceId, planId: planId ?? known?.planId },
  };
}

/** Dependencies of `VanishedInstances`. */
export interface VanishedOptions {
  readonly broker: (config: string, options: CallOptions) => Promise<Broker>;
  /** Reports whether a managed resource has the instance, such as one that was created for it again. */
  readonly isManaged: (instanceId: string) => boolean;
  readonly metrics: Metrics;
  /** Keeps the usage of the managed resource. Called until it resolves once. */
  readonly keepUsage: (managed: ServiceInstance, options: CallOptions) => Promise<void>;
  /** Told once of each that is left. Must not throw. */
  readonly onLeft: (vanished: Vanished) => void;
}

const busyAgainMs = 30_000;
const thereAgainMs = 600_000;

/** Keeps the instances that vanished while this process ran. */
export class VanishedInstances {
  readonly #options: VanishedOptions;
  readonly #found = new Map<string, { readonly vanished: Vanished; isKept: boolean; isReported: boolean }>();

  constructor(options: VanishedOptions) {
    this.#options = options;
    options.metrics.read(declarations.vanishedInstances, () => [{ labels: {}, value: this.#reported }]);
  }

  /** Keys to reconcile after a managed resource went. */
  keysOf(object: ServiceInstance): readonly string[] {
    const vanished = vanishedInstance(object);
    if (vanished === undefined) return [];
    const key = `${vanished.config}/${vanished.instanceId}`;
    if (!this.#found.has(key)) this.#found.set(key, { vanished, isKept: false, isReported: false });
    return [key];
  }

  /** Asks the broker for the instance of a key. */
  readonly reconcile: Reconcile = async (key, { signal, logger }) => {
    const found = this.#found.get(key);
    if (found === undefined) return undefined;
    const { vanished } = found;
    const { config, instanceId, managed } = vanished;
    if (!found.isKept) await this.#options.keepUsage(managed, { signal });
    // A ledger remembers a UID for a short while only.
    found.isKept = true;
    const state = this.#options.isManaged(instanceId) ? "gone" : await this.#ask(vanished, { signal });
    if (state === "busy") return { requeueAfterMs: busyAgainMs };
    if (state === "gone") {
      this.#found.delete(key);
      return undefined;
    }
    if (!found.isReported) {
      const message =
        "an instance is left at its broker: its managed resource vanished; import it by a ServiceInstance, or deprovision it at the broker";
      logger.warn(message, { config, instanceId, name: managed.metadata.name });
      this.#options.onLeft(vanished);
    }
    found.isReported = true;
    return { requeueAfterMs: thereAgainMs };
  };

  /** One that is imported counts no more at once; its key is forgotten when it is asked for again. */
  get #reported(): number {
    const isLeft = (id: string): boolean => !this.#options.isManaged(id);
    return [...this.#found.values()].filter((one) => one.isReported && isLeft(one.vanished.instanceId))
      .length;
  }

  async #ask(
    { config, instanceId, plan }: Vanished,
    options: CallOptions,
  ): Promise<"gone" | "busy" | "there"> {
    const broker = await this.#options.broker(config, options);
    try {
      const { state } = await broker.osb.lastOperation({ instanceId, ...plan }, options);
      if (state === "in progress") return "busy";
    } catch (error) {
      // Brokers may have no operation to tell of; the instance itself is what counts.
      if (!(error instanceof OsbError)) throw error;
    }
    const { services } = await broker.catalog(options);
    if (services.find(({ id }) => id === plan.serviceId)?.instancesRetrievable !== true) return "there";
    try {
      await broker.osb.fetchInstance(instanceId, options);
      return "there";
    } catch (error) {
      if (isGone(error)) return "gone";
      throw error;
    }
  }
}
