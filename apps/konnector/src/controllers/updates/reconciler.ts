/**
 * Follows the version that a control plane wants, where the app cluster's operator allows it (designs/0035-waves.md). The only write is the image
 * of the konnector's own Deployment. There is one key.
 *
 * | step    | action                                                   |
 * |---------|----------------------------------------------------------|
 * | observe | the wanted versions; the Deployment, read live            |
 * | plan    | `planUpdate`                                              |
 * | execute | one JSON patch, which fails if the image was changed meanwhile; words for the heartbeat, and an event |
 */
import {
  consumerNamespace,
  klutchVersion,
  konnectorName,
  type KonnectorUpdateScope,
  type KonnectorUpdates,
} from "@klutch/api";
import { isForbidden } from "@klutch/kube";
import {
  conditionsOf,
  deployments,
  type DynamicObject,
  findCondition,
  plainText,
  recordsAt,
  textAt,
} from "@klutch/kube-core";
import {
  type Controller,
  createEventRecorder,
  type EventRecorder,
  type ReconcileContext,
  type ReconcileResult,
} from "@klutch/kube-runtime";
import type { ConsumerCluster, RuntimeDependencies } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import type { Startable } from "../../lifecycle.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import { planUpdate } from "./plan.ts";

/** Options of the part. */
export interface UpdatesOptions {
  readonly consumer: ConsumerCluster;
  readonly allowed: KonnectorUpdateScope;
  readonly runtime: RuntimeDependencies;
  /** Version of this program. Default: that of the release. */
  readonly running?: string | undefined;
}

const theKey = "updates";
/** A Deployment that does not get on, or that a person changes, wakes no one: the konnector does not watch Deployments. */
const recheckMs = 30_000;

/** See the table above. Shared by all providers of an app cluster. */
export class Updates implements Startable {
  readonly #options: UpdatesOptions;
  readonly #controller: Controller;
  readonly #events: EventRecorder;
  readonly #wanted = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  #problem: string | undefined;

  constructor(options: UpdatesOptions) {
    this.#options = options;
    const { runtime, consumer } = options;
    this.#events = createEventRecorder({ ...runtime, client: consumer.client, component: "konnector" });
    this.#controller = createController(runtime, "updates", (_key, call) => this.#reconcile(call));
  }

  async start(options: { readonly signal: AbortSignal }): Promise<void> {
    await this.#controller.start(options);
  }

  /** Takes the version that one provider wants; undefined for none, and when the provider is left. */
  set(provider: string, version: string | undefined): void {
    if (this.#wanted.get(provider) === version) return;
    if (version === undefined) this.#wanted.delete(provider);
    else this.#wanted.set(provider, version);
    this.#controller.enqueue(theKey, { reason: wakeReasons.versionWanted });
  }

  /** Returns what the heartbeats of all providers say. */
  said(): KonnectorUpdates {
    const { line, floor } = this.#options.allowed;
    return { line, floor, ...(this.#problem === undefined ? {} : { problem: this.#problem }) };
  }

  /** Calls back when `said` changes. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async #reconcile({ signal, logger }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { consumer, allowed, running = klutchVersion } = this.#options;
    const wanted = [...new Set(this.#wanted.values())].toSorted();
    if (wanted.length === 0) return this.#say(undefined);
    const ref = { namespace: consumerNamespace, name: konnectorName };
    try {
      const deployment = await consumer.client.find<DynamicObject>(deployments, ref, { signal });
      const { image, index } = containerOf(deployment);
      const plan = planUpdate({ allowed, wanted, running, image, stuck: stuckOf(deployment) });
      if (plan.image !== undefined && image !== undefined && deployment !== undefined) {
        const path = `/spec/template/spec/containers/${index}/image`;
        const operations = [
          { op: "test", path, value: image },
          { op: "replace", path, value: plan.image },
        ];
        await consumer.client.jsonPatch(deployments, ref, operations, { signal });
        logger.info("follows to a version that a control plane wants", { from: image, to: plan.image });
        const words = `the konnector's image becomes ${plan.image} instead of ${plainText(image, 200)}: a control plane wants ${wanted.join(", ")}, and this cluster follows`;
        void this.#events.record(deployment, "Normal", "KonnectorUpdate", words);
      }
      this.#say(plan.problem, deployment);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      logger.warn("not allowed to follow updates", { error });
      this.#say(
        "the konnector may not read or change its own Deployment: give it the rights by the value followUpdates of its chart",
      );
    }
    return { requeueAfterMs: recheckMs };
  }

  #say(problem: string | undefined, deployment?: DynamicObject): undefined {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem !== undefined && deployment !== undefined)
      void this.#events.record(deployment, "Warning", "KonnectorUpdateHeld", problem);
    for (const listener of this.#listeners) listener();
  }
}

function containerOf(deployment: DynamicObject | undefined): {
  readonly image: string | undefined;
  readonly index: number;
} {
  const containers = recordsAt(deployment, "spec", "template", "spec", "containers");
  const index = containers.findIndex((one) => one["name"] === konnectorName);
  return { index, image: textAt(containers[index], "image") };
}

/** Returns the words of a Deployment whose new Pods do not become ready before its own deadline. */
function stuckOf(deployment: DynamicObject | undefined): string | undefined {
  const progress = findCondition(conditionsOf(deployment), "Progressing");
  return progress?.status === "False" ? (progress.message ?? progress.reason ?? "no progress") : undefined;
}
