/** Which changes of a managed resource need a reconcile. */
import { jsonEqual } from "@klutch/kube";
import type { Change } from "@klutch/kube-runtime";
import type { Managed } from "./external.ts";

/** The key, unless only the status or bookkeeping changed, which is our own doing. */
export function keysOfManagedChange(change: Change<Managed>): readonly string[] {
  if (change.type !== "updated") return [change.key];
  const { object, previous } = change;
  const same =
    object.metadata.generation === previous.metadata.generation &&
    object.metadata.deletionTimestamp === previous.metadata.deletionTimestamp &&
    jsonEqual(object.metadata.annotations, previous.metadata.annotations) &&
    jsonEqual(object.metadata.labels, previous.metadata.labels);
  return same ? [] : [change.key];
}
