/** The context of a trace on the objects of a pair: it goes to the provider in a write that happens anyway, and never comes back. */
import { traceAnnotation, traceCausesOf } from "@klutch/api";
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import { activeScope, formatTraceparent } from "@klutch/telemetry";

/** Links the reconcile to what its claim and its upstream object say caused their last change. Both are words of others. */
export function followPair(pair: {
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
}): void {
  const scope = activeScope();
  if (scope === undefined) return;
  for (const object of [pair.consumer, pair.provider])
    for (const cause of traceCausesOf(object?.metadata)) scope.follow(cause);
}

/**
 * Links the copying of a claimed object to the last change of its claim, and to what its source says. All of them are words of others. `claimCauses`
 * is called only while a trace is on.
 */
export function followSource(source: DynamicObject | undefined, claimCauses: () => Iterable<string>): void {
  const scope = activeScope();
  if (scope === undefined) return;
  for (const cause of claimCauses()) scope.follow(cause);
  for (const cause of traceCausesOf(source?.metadata)) scope.follow(cause);
}

/** Returns the metadata with the span that writes them; as they are where traces are off, or this one is not recorded. */
export function traced(metadata: ObjectMeta): ObjectMeta {
  const span = activeScope()?.begin();
  if (span === undefined) return metadata;
  return {
    ...metadata,
    annotations: { ...metadata.annotations, [traceAnnotation]: formatTraceparent(span) },
  };
}
