/** Tells metrics the sizes of instances and how many are idle, as far as brokers tell. */
import { idleDaysOf, type Measured, measuredOf, type ServiceInstance, usageNamespaceOf } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import type { Metrics, Sample } from "@klutch/telemetry";
import { idleInstances, instanceBytes } from "../metrics.ts";

/** Source of the numbers. */
export interface MeasuredSource {
  /** The existing instances, as far as the caches show. */
  readonly instances: () => Iterable<ServiceInstance>;
  readonly clock: Pick<Clock, "now">;
  /** Namespaces that are shown each by itself. Default 50. */
  readonly mostNamespaces?: number | undefined;
}

type Label = "claim_namespace" | "service" | "plan";

/** Reads the numbers whenever metrics are asked for. */
export function readMeasuredInstances(metrics: Pick<Metrics, "read">, source: MeasuredSource): void {
  const bounded = <D extends typeof instanceBytes>(declaration: D): D => ({
    ...declaration,
    topValues: {
      ...declaration.topValues,
      ...(source.mostNamespaces !== undefined && { claim_namespace: source.mostNamespaces }),
    },
  });
  metrics.read(bounded(instanceBytes), () => sizesOf(source));
  metrics.read(bounded(idleInstances), () => idleOf(source));
}

/** Returns a sample for each instance whose size is known. */
export function sizesOf(source: MeasuredSource): readonly Sample<Label>[] {
  return samplesOf(source, ({ bytes }) => bytes);
}

/** Returns a sample for each instance whose last session is known: 1 if it is idle, else 0. */
export function idleOf(source: MeasuredSource): readonly Sample<Label>[] {
  return samplesOf(source, (measured) =>
    measured.lastSession === undefined ? undefined : idleDaysOf(measured) === undefined ? 0 : 1,
  );
}

function samplesOf(
  { instances, clock }: MeasuredSource,
  valueOf: (measured: Measured) => number | undefined,
): readonly Sample<Label>[] {
  const now = clock.now();
  return [...instances()].flatMap((instance) => {
    const measured = measuredOf(instance, now);
    const value = measured === undefined ? undefined : valueOf(measured);
    if (measured === undefined || value === undefined) return [];
    const { service, plan } = measured.plan;
    return [{ labels: { claim_namespace: usageNamespaceOf(instance) ?? "", service, plan }, value }];
  });
}
