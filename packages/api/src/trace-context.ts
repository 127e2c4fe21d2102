/**
 * The context of a trace on objects. Klutch writes it under a key of its own, because Crossplane leaves keys of `k8s.io` out when it copies the
 * annotations of a claim to its composite. The key of KEP-5915 is read, too, so that a pipeline that applies a claim can be the beginning.
 *
 * It is written only in a write that happens anyway, while the writing span is recorded, and is never compared. What it says is a stranger's
 * word: the reader parses it strictly, and makes no more of it than a link.
 */
import type { ObjectMeta } from "@klutch/kube-core";

/** Holds a `traceparent`: of the span that wrote the object last. */
export const traceAnnotation = "klutch.anynines.com/traceparent";

/** The same by other tools (KEP-5915). Read only. */
export const commonTraceAnnotation = "tracing.k8s.io/traceparent";

/** Returns what the object says caused its last change; not checked. */
export function traceCausesOf(metadata: Pick<ObjectMeta, "annotations"> | undefined): readonly string[] {
  const annotations = metadata?.annotations;
  if (annotations === undefined) return [];
  const [own, common] = [annotations[traceAnnotation], annotations[commonTraceAnnotation]];
  return own === undefined && common === undefined
    ? []
    : [own, common].filter((cause) => cause !== undefined);
}
