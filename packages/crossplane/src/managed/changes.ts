/** Selects the changes of a managed resource that need a reconcile. */
import { jsonEqual } from "@klutch/kube-core";
import type { Change } from "@klutch/kube-runtime";
import { externalNameAnnotation, type Managed } from "./external.ts";

/**
 * The key, unless only the status or critical annotations changed: those were written by a reconcile that already decided when to come again.
 * `critical` names the annotations that the external client writes; an edit of somebody else is observed at the next poll.
 */
export function keysOfManagedChange(
  critical: readonly string[],
): (change: Change<Managed>) => readonly string[] {
  const own = new Set([externalNameAnnotation, ...critical]);
  const foreign = (managed: Managed): object =>
    Object.fromEntries(Object.entries(managed.metadata.annotations ?? {}).filter(([name]) => !own.has(name)));
  return (change) => {
    if (change.type !== "updated") return [change.key];
    const { object, previous } = change;
    const same =
      object.metadata.generation === previous.metadata.generation &&
      object.metadata.deletionTimestamp === previous.metadata.deletionTimestamp &&
      jsonEqual(foreign(object), foreign(previous)) &&
      jsonEqual(object.metadata.labels, previous.metadata.labels);
    return same ? [] : [change.key];
  };
}
