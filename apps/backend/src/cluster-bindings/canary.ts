/**
 * Answers the canaries of app clusters: repeats the number that a konnector put into the status of its ClusterBinding (designs/0031). It has a
 * queue of its own, and no part in the work on bindings, which is more than an answer is worth.
 */
import { type ClusterBinding, clusterBindings, parseClusterBinding } from "@klutch/api";
import { refOf } from "@klutch/kube-core";
import { Controller, type ControllerOptions, type Reconcile } from "@klutch/kube-runtime";
import type { Counter, Metrics } from "@klutch/telemetry";
import type { ControllerContext } from "../controller-context.ts";
import { canaryAnswers } from "../metrics.ts";

/** Answers to one app cluster in a minute, by default: konnectors ask once, and after a restart once more. */
export const defaultAnswersPerMinute = 12;

type Context = Pick<ControllerContext, "client" | "clock" | "canaryAnswersPerMinute"> & {
  readonly caches: Pick<ControllerContext["caches"], "bindings">;
};

/** Counts what became of probes. */
export type AnswerCounters = Readonly<Record<"answered" | "failed" | "held", Counter>>;

/** Creates the controller. */
export function createCanaryController(
  context: Context,
  options: Pick<ControllerOptions, "groups" | "logger" | "tracer" | "clock"> & { readonly metrics: Metrics },
): Controller {
  const counter = options.metrics.counter(canaryAnswers);
  const of = (state: keyof AnswerCounters): Counter => counter.labels({ state });
  const counters = { answered: of("answered"), failed: of("failed"), held: of("held") };
  const { reconcile, forget } = createCanaryReconcile(context, counters);
  const controller = new Controller({ name: "canary", ...options, reconcile });
  controller.watch(context.caches.bindings, ({ type, key, object }) => {
    if (type === "deleted") forget(key);
    return type !== "deleted" && wanted(object, context) !== undefined ? [key] : [];
  });
  return controller;
}

/** Returns the number to write; null to take the old one away, where canaries are switched off; undefined where all is as it should be. */
function wanted(
  binding: ClusterBinding,
  { canaryAnswersPerMinute = defaultAnswersPerMinute }: Context,
): number | null | undefined {
  const { sent, answered } = parseClusterBinding(binding).canary;
  if (canaryAnswersPerMinute === 0) return binding.status?.canary?.answered === undefined ? undefined : null;
  return sent === answered ? undefined : sent;
}

/** Creates the reconcile. An app cluster that asks too often gets its answers later. */
export function createCanaryReconcile(
  context: Context,
  counters: AnswerCounters,
): { readonly reconcile: Reconcile; readonly forget: (key: string) => void } {
  const { client, caches, clock, canaryAnswersPerMinute = defaultAnswersPerMinute } = context;
  const gapMs = canaryAnswersPerMinute === 0 ? 0 : 60_000 / canaryAnswersPerMinute;
  const last = new Map<string, { readonly answered: number | null; readonly at: number }>();
  const reconcile: Reconcile = async (key, { signal }) => {
    const binding = caches.bindings.get(key);
    if (binding === undefined || binding.metadata.deletionTimestamp !== undefined) return undefined;
    const answered = wanted(binding, context);
    const before = last.get(key);
    if (answered === undefined || answered === before?.answered) return undefined;
    const waitMs = (before?.at ?? Number.NEGATIVE_INFINITY) + gapMs - clock.monotonic();
    if (waitMs > 0) {
      counters.held.inc();
      return { requeueAfterMs: waitMs };
    }
    try {
      const patch = { status: { canary: { answered } } };
      await client.mergePatch(clusterBindings, refOf(key), patch, { subresource: "status", signal });
    } catch (error) {
      counters.failed.inc();
      throw error;
    }
    last.set(key, { answered, at: clock.monotonic() });
    counters.answered.inc();
    return undefined;
  };
  return { reconcile, forget: (key) => void last.delete(key) };
}
