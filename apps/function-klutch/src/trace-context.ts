/**
 * Passes the context of a trace from the composite to its composed resources. Crossplane applies what a function wants whenever the composite
 * changes; the context is only ever changed together with something else, so that tracing causes no write.
 */
import { traceAnnotation } from "@klutch/api";
import type { ComposeRequest, ComposeResponse, DesiredResource, Json } from "@klutch/crossplane";
import { contains, recordAt, textAt } from "@klutch/kube-core";
import { parseTraceparent } from "@klutch/telemetry";

/** Returns the response with the context on each of its resources. Without any on the composite or on what exists it is as it was. */
export function passTraceContext(
  { composite, observed }: Pick<ComposeRequest, "composite" | "observed">,
  response: ComposeResponse,
): ComposeResponse {
  const news = contextOf(composite);
  const resources = Object.entries(response.resources).map(([name, desired]) => {
    const existing = observed[name]?.resource;
    const isUnchanged = existing !== undefined && contains(existing, desired.resource);
    const context = isUnchanged ? contextOf(existing) : news;
    return [name, context === undefined ? desired : withContext(desired, context)] as const;
  });
  return { ...response, resources: Object.fromEntries(resources) };
}

/** Returns the context on the composite. */
export function causesOfComposite(composite: Json): readonly string[] {
  const context = contextOf(composite);
  return context === undefined ? [] : [context];
}

/** A stranger may have written it: only a valid one is passed on. */
function contextOf(object: Json): string | undefined {
  const text = textAt(object, "metadata", "annotations", traceAnnotation);
  return parseTraceparent(text) === undefined ? undefined : text;
}

function withContext({ resource, ready }: DesiredResource, context: string): DesiredResource {
  const metadata = recordAt(resource, "metadata");
  const annotations = { ...recordAt(metadata, "annotations"), [traceAnnotation]: context };
  return { resource: { ...resource, metadata: { ...metadata, annotations } }, ready };
}
