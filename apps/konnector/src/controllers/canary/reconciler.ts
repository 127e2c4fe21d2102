/**
 * Sends a canary on the way of claims, and measures until its answer is here: a number in the status of the ClusterBinding, which the
 * backend's controllers see and repeat (designs/0031).
 *
 * | step    | what                                                     |
 * |---------|----------------------------------------------------------|
 * | observe | the ClusterBinding in the cache                          |
 * | plan    | `probe.ts`                                               |
 * | execute | one write of the status, each `canaryMs`                 |
 */
import { clusterBindingName, clusterBindings, parseClusterBinding } from "@klutch/api";
import { isForbidden, isInvalid, isNotFound, isUnauthorized } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import type {
  Controller,
  ReadYourWritesCache,
  ReconcileContext,
  ReconcileResult,
} from "@klutch/kube-runtime";
import { createController } from "../../controller.ts";
import type { Startable } from "../../lifecycle.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import type { ProviderParts } from "../service-namespace/provider-parts.ts";
import {
  firstState,
  isDue,
  judge,
  type Outcome,
  outcomes,
  type ProbeState,
  type Sending,
  sent,
  type Verdict,
} from "./probe.ts";

/** Options of the canary. */
export interface CanaryOptions extends Pick<ProviderParts, "provider" | "runtime"> {
  /** ClusterBindings of this tenant. */
  readonly clusterBindings: ReadYourWritesCache;
}

/** Reconciles one key: the ClusterBinding. */
export class CanaryReconciler implements Startable {
  readonly #options: CanaryOptions;
  readonly #controller: Controller;
  #state: ProbeState;
  #outcome: Outcome | undefined;

  constructor(options: CanaryOptions) {
    const { runtime } = options;
    const { clock, random, timing, metrics } = runtime;
    this.#options = options;
    this.#state = firstState(clock.monotonic(), random(), timing);
    this.#controller = createController(runtime, "canary", (_key, call) => this.#reconcile(call));
    // A rate needs a beginning.
    for (const outcome of outcomes) metrics.probes.labels({ outcome });
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using _watch = this.#controller.watch(this.#options.clusterBindings.informer, () => [clusterBindingName]);
    this.#controller.enqueue(clusterBindingName, { reason: wakeReasons.started });
    await this.#controller.start({ signal });
  }

  async #reconcile({ signal }: ReconcileContext): Promise<ReconcileResult> {
    const { runtime, provider } = this.#options;
    const { clock, timing } = runtime;
    const own = this.#options.clusterBindings.get(`${provider.tenant.namespace}/${clusterBindingName}`);
    // The heartbeat reports a ClusterBinding that is gone.
    if (own === undefined) return { requeueAfterMs: timing.canaryMs };
    const { answered } = parseClusterBinding(own).canary;
    this.#take(judge(this.#state, answered, clock.monotonic(), timing));
    if (isDue(this.#state, clock.monotonic())) {
      const probe = this.#newProbe(answered);
      const sending = await this.#send(probe.number, signal);
      this.#take(sent(probe, sending, answered !== undefined, timing));
    }
    return { requeueAfterMs: Math.max(this.#state.nextAt - clock.monotonic(), 0) };
  }

  /** A number that the control plane cannot know before. */
  #newProbe(answered: number | undefined): { readonly number: number; readonly sentAt: number } {
    const { clock, random } = this.#options.runtime;
    const number = Math.floor(random() * Number.MAX_SAFE_INTEGER);
    return { number: number === answered ? number + 1 : number, sentAt: clock.monotonic() };
  }

  /** The write must end before the next one is due, also where the connection hangs. */
  async #send(number: number, signal: AbortSignal): Promise<Sending> {
    const { provider, runtime } = this.#options;
    const ref = { namespace: provider.tenant.namespace, name: clusterBindingName };
    const late = new AbortController();
    const cancel = runtime.clock.schedule(runtime.timing.canaryMs, () => late.abort(new Error("timed out")));
    try {
      const answer = await provider.client.mergePatch<DynamicObject>(
        clusterBindings,
        ref,
        { status: { canary: { sent: number } } },
        { subresource: "status", signal: AbortSignal.any([signal, late.signal]) },
      );
      return parseClusterBinding(answer).canary.sent === number ? "kept" : "dropped";
    } catch (error) {
      if (signal.aborted) throw error;
      runtime.logger.debug("the canary could not be sent", { error });
      const isRefusal = [isForbidden, isInvalid, isNotFound, isUnauthorized].some((is) => is(error));
      return isRefusal ? "refused" : "unreachable";
    } finally {
      cancel();
    }
  }

  #take({ state, outcome, lagMs }: Verdict): void {
    const { metrics, logger } = this.#options.runtime;
    this.#state = state;
    if (lagMs !== undefined) metrics.probeLag.labels({}).observe(lagMs / 1000);
    if (outcome === undefined) return;
    metrics.probes.labels({ outcome }).inc();
    if (outcome !== this.#outcome) logger.info("the canary's outcome changed", { outcome });
    this.#outcome = outcome;
  }
}
