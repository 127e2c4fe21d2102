/** Controllers on the konnector's runtime. */
import { Controller, type ControllerOptions, type Reconcile } from "@klutch/kube-runtime";
import type { RuntimeDependencies } from "./clusters.ts";

/** Creates a controller. Default: one worker, for parts that are not for concurrent use. */
export function createController(
  { logger, clock, random, metrics, tracer }: RuntimeDependencies,
  name: string,
  reconcile: Reconcile,
  workers: ControllerOptions["workers"] = 1,
  kind?: string,
): Controller {
  return new Controller({
    name,
    workers,
    kind,
    metrics: metrics.registry,
    logger,
    clock,
    random,
    tracer,
    reconcile,
  });
}
