/**
 * Carries roll-outs of konnector versions out: writes the wanted version on ClusterBindings, where accounts of app clusters can read it and not
 * write it (designs/0035-waves.md). The app cluster decides whether it follows.
 *
 * | step    | action                                                                      |
 * |---------|-----------------------------------------------------------------------------|
 * | observe | the KonnectorRollout, read live, and from caches the app clusters it selects |
 * | plan    | `planRollout`                                                                |
 * | execute | the verdict first if it stops; else the versions, then the status            |
 */
import {
  clusterBindingName,
  clusterBindings,
  type KonnectorRollout,
  konnectorRollouts,
  tenantName,
} from "@klutch/api";
import { keyOfRef, setConditions } from "@klutch/kube-core";
import { Controller, type ControllerOptions, type EventRecorder, type Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import { byAge, type ClusterFacts, factsOf, selects } from "./facts.ts";
import { planRollout, type RolloutPlan } from "./plan.ts";
import { annotationsFor } from "./record.ts";

/** Deadlines and pauses cause no change that could wake the controller. */
const recheckMs = 30_000;
/** App clusters report in numbers: they are looked at together. */
const gatherMs = 5_000;
/** A write that a cache does not show yet. */
const settleMs = 2_000;

type Context = Pick<ControllerContext, "client" | "clock"> & {
  readonly caches: Pick<ControllerContext["caches"], "bindings" | "exports" | "rollouts" | "tenants">;
  readonly events?: Pick<EventRecorder, "record"> | undefined;
};

/** Creates the controller. Keys are names of KonnectorRollouts. */
export function createRolloutController(
  context: Context,
  options: Pick<ControllerOptions, "logger" | "metrics">,
): Controller {
  const { caches } = context;
  const controller = new Controller({
    name: "konnectorrollouts",
    kind: caches.rollouts.type.kind,
    ...options,
    workers: 1,
    reconcile: createRolloutReconcile(context),
  });
  const lookSoon = (): void => {
    for (const { metadata } of caches.rollouts.list())
      controller.enqueue(metadata.name ?? "", { afterMs: gatherMs, reason: "app clusters changed" });
  };
  // One that goes leaves its app clusters to another.
  controller.watch(caches.rollouts, ({ key }) => [
    key,
    ...[...caches.rollouts.list()].map(({ metadata }) => metadata.name ?? ""),
  ]);
  caches.bindings.onChange(lookSoon);
  caches.tenants.onChange(lookSoon);
  return controller;
}

/** Creates the reconcile. */
export function createRolloutReconcile(context: Context): Reconcile {
  const { client, clock, events } = context;
  return async (name, { signal, logger }) => {
    // A cache may not show yet that it was stopped.
    const rollout = await client.find<KonnectorRollout>(konnectorRollouts, { name }, { signal });
    if (rollout === undefined || rollout.metadata.deletionTimestamp !== undefined) return undefined;
    const plan = planRollout({
      uid: rollout.metadata.uid ?? "",
      generation: rollout.metadata.generation,
      spec: rollout.spec,
      status: rollout.status ?? {},
      clusters: clustersOf(context, rollout),
      now: clock.now(),
    });
    for (const { namespace, version, record } of plan.writes) {
      const ref = { namespace, name: clusterBindingName };
      const metadata = { annotations: annotationsFor(version, record) };
      await client.mergePatch(clusterBindings, ref, { metadata }, { signal });
      logger.info("gave an app cluster a konnector version", { namespace, version, wave: record.wave });
    }
    await writeStatus(context, rollout, plan, signal);
    if (plan.stops) {
      const { message = "" } = plan.condition;
      logger.warn("stopped a roll-out of a konnector version", { name, message });
      void events?.record(
        { ...rollout, status: undefined, spec: undefined },
        "Warning",
        "RolloutStopped",
        message,
      );
    }
    return { requeueAfterMs: plan.stops || plan.writes.length > 0 ? settleMs : recheckMs };
  };
}

/** Caches may not have the present form of the roll-out, so it stands in for the cached one. */
function clustersOf({ caches }: Context, rollout: KonnectorRollout): readonly ClusterFacts[] {
  const others = [...caches.rollouts.list()].filter(
    ({ metadata }) => metadata.name !== rollout.metadata.name,
  );
  const ordered = byAge([...others, rollout]);
  return [...caches.bindings.list()].flatMap((binding): readonly ClusterFacts[] => {
    const { namespace = "", name, deletionTimestamp } = binding.metadata;
    if (name !== clusterBindingName || deletionTimestamp !== undefined) return [];
    const tenant = caches.tenants.get(keyOfRef({ namespace, name: tenantName }));
    if (ordered.find((one) => selects(one, tenant)) !== rollout) return [];
    return [factsOf(binding, caches.exports.byIndex(byNamespace, namespace))];
  });
}

async function writeStatus(
  { client, clock }: Context,
  rollout: KonnectorRollout,
  { status, condition }: RolloutPlan,
  signal: AbortSignal,
): Promise<void> {
  const conditions = setConditions(rollout.status?.conditions, [condition], clock.now());
  const gone = (["wellSince", "stop"] as const).filter(
    (field) => status[field] === undefined && rollout.status?.[field] !== undefined,
  );
  const removed = Object.fromEntries(gone.map((field) => [field, null]));
  await ensureStatus(client, konnectorRollouts, rollout, { ...status, ...removed, conditions }, { signal });
}
