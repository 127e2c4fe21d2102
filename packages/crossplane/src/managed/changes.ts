/** Which changes of a managed resource need a reconcile. */
import { jsonEqual } from "@klutch/kube-core";
import type { Change } from "@klutch/kube-runtime";
import { externalNameAnnotation, type Managed } from "./external.ts";

/**
 * The key, unless only the status or our own notes changed: those were written by a pass that already decided when to look again.
 * `notes` names the annotations that the external client records; a note that somebody else edits is seen at the next look.
 */
export function keysOfManagedChange(
  notes: readonly string[],
): (change: Change<Managed>) => readonly string[] {
  const own = new Set([externalNameAnnotation, ...notes]);
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
