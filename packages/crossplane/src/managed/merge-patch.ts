/** The difference between two JSON objects as a merge patch. */
import { isRecord, jsonEqual } from "@klutch/kube-core";

type Json = Readonly<Record<string, unknown>>;

/**
 * What turns `before` into `after` (RFC 7386); undefined when nothing differs. Null and undefined mean that a field is not there:
 * a merge patch cannot set null.
 */
export function mergePatchOf(before: Json, after: Json): Json | undefined {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changes = [...names].flatMap((name) => {
    const change = changeOf(own(before, name), own(after, name));
    return change === undefined ? [] : [[name, change] as const];
  });
  return changes.length === 0 ? undefined : Object.fromEntries<unknown>(changes);
}

/** Undefined: as it is. */
function changeOf(before: unknown, after: unknown): unknown {
  if (after === undefined) return before === undefined ? undefined : null;
  if (isRecord(before) && isRecord(after)) return mergePatchOf(before, after);
  return jsonEqual(before, after) ? undefined : after;
}

function own(object: Json, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}
