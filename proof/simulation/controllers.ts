/**
 * The statuses that the provider's controllers write. Zones have an honest controller: its numbers are those of the spec that it worked on.
 * Databases are claims of Crossplane: the existing status is stamped with the newest generation at once, and the real one comes later,
 * stamped with whatever generation there is by then. Only the echo of the mark tells.
 */
import { specDigestAnnotation, specObservedCondition, specObservedReason } from "@klutch/api";
import {
  canonicalJson,
  type DynamicObject,
  type ObjectMeta,
  recordAt,
  recordsAt,
  type ResourceType,
} from "@klutch/kube-core";
import { databases } from "./apis.ts";
import type { WorkLedger } from "./generations.ts";

/** Counts up with every status that is written, over all objects, and notes what was worked on. */
export interface StatusCounter {
  next: number;
  readonly ledger?: WorkLedger | undefined;
}

/** Returns the place of an object, for the ledger. */
export function placeOf(
  { plural }: Pick<ResourceType, "plural">,
  { namespace = "", name = "" }: ObjectMeta,
): string {
  return `${plural} ${namespace}/${name}`;
}

/** Returns the spec of an object or its claim without the field that the provider fills in. */
export function specText(object: DynamicObject): string {
  const { resourceRef: _late, ...spec } = recordAt(object, "spec");
  return canonicalJson(spec);
}

const since = { lastTransitionTime: "2026-01-01T00:00:00Z" };

/** Tells whether the controller of this kind has nothing to do. */
export function isDone(type: ResourceType, { metadata, status, spec }: DynamicObject): boolean {
  const { generation, annotations } = metadata;
  const { of, observedGeneration } = recordAt(status);
  const mark = annotations?.[specDigestAnnotation];
  const conditions = recordsAt(status, "conditions");
  const echo = conditions.find((one) => one["type"] === specObservedCondition);
  if (of !== seen(spec)) return false;
  if (type.plural !== databases.type.plural) return observedGeneration === generation;
  if (conditions.some((one) => one["observedGeneration"] !== generation)) return false;
  return mark === undefined || echo?.["reason"] === specObservedReason(mark);
}

/** Returns the existing status, stamped with the newest generation although no controller has looked at that. */
export function stampedStatus({ metadata: { generation }, status }: DynamicObject): object {
  const conditions = recordsAt(status, "conditions");
  return { conditions: conditions.map((one) => ({ ...one, observedGeneration: generation })) };
}

/** Returns the status after work on `worked`, when the object is `live` by then. */
export function workedStatus(
  type: ResourceType,
  worked: DynamicObject,
  live: DynamicObject,
  counter: StatusCounter,
): object {
  const isHonest = type.plural !== databases.type.plural;
  const observedGeneration = (isHonest ? worked : live).metadata.generation;
  const mark = worked.metadata.annotations?.[specDigestAnnotation];
  const ready = { type: "Ready", status: "True", reason: "Available", observedGeneration, ...since };
  const echo = { type: specObservedCondition, status: "True", observedGeneration, ...since };
  const isEchoed = !isHonest && mark !== undefined;
  return {
    count: counter.next++,
    of: seen(worked.spec),
    ...(isHonest ? { observedGeneration } : {}),
    conditions: [ready, ...(isEchoed ? [{ ...echo, reason: specObservedReason(mark) }] : [])],
  };
}

/** Returns the status of an object that is being deleted. */
export function deletingStatus({ metadata: { generation } }: DynamicObject, counter: StatusCounter): object {
  const ready = { type: "Ready", status: "False", reason: "Deleting", observedGeneration: generation };
  return { count: counter.next++, conditions: [{ ...ready, ...since }] };
}

function seen(spec: unknown): string {
  const { size, note } = recordAt(spec);
  return `${JSON.stringify(size)} ${JSON.stringify(note)}`;
}
