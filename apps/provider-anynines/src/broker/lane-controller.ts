/** The controller of one managed kind: a backend that hangs delays only its own resources. */
import type { Managed } from "@klutch/crossplane";
import { Controller, type Informer, type Reconcile, type Runtime } from "@klutch/kube-runtime";
import { inLanes, lanesAtOnce } from "./broker-lanes.ts";
import { retryLimits } from "./deletion-retry.ts";
import { configNameOf } from "../config-reference.ts";

/** What differs between the controllers of the managed kinds. */
export interface LaneController<M extends Managed> {
  readonly name: string;
  readonly informer: Informer<M>;
  readonly reconcile: Reconcile;
}

/** `workers`: resources of one ProviderConfig that are worked on at the same time. */
export function createLaneController<M extends Managed>(
  parts: Runtime & { readonly workers: number },
  { name, informer, reconcile }: LaneController<M>,
): Controller {
  const controller: Controller = new Controller({
    ...parts,
    name,
    workers: parts.workers * lanesAtOnce,
    baseDelayMs: retryLimits.baseMs,
    maxDelayMs: retryLimits.capMs,
    reconcile: inLanes({
      reconcile,
      width: parts.workers,
      laneOf: (key) => {
        const managed = informer.get(key);
        return managed === undefined ? undefined : configNameOf(managed);
      },
      enqueue: (key) => controller.enqueue(key, { reason: "the queue of its backend has room" }),
    }),
  });
  return controller;
}
