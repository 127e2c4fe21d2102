/** The state of a claim, composite or managed resource in one word, read from its conditions. No I/O. */
import { type StandardCondition, findCondition } from "@klutch/kube-core";

/** States, as the label `state` of metrics has them. */
export type ObjectStateName = "ready" | "pending" | "failed" | "held" | "deleting";

/** A state, and the reason of the condition that decides it. */
export interface ObjectState {
  readonly state: ObjectStateName;
  /** Empty without a condition. */
  readonly reason: string;
}

/** Parts of an object that have a say. */
export interface StatefulObject {
  readonly metadata: { readonly deletionTimestamp?: string | undefined };
  readonly conditions:
    | readonly (Pick<StandardCondition, "type" | "status"> & { readonly reason?: string | undefined })[]
    | undefined;
}

/** A deletion waits for users of the object, or for a person. */
const holdingReasons = new Set(["StillBound", "StillBackedUp", "StillRestoring", "DeletionHeld"]);
/** Something else has to happen first, or the operation runs. Every reason that begins with `Waiting` is one, too. */
const pendingReasons = new Set([
  "Creating",
  "Changing",
  "Deleting",
  "BrokerBusy",
  "Paused",
  "ReconcilePaused",
  "ReconcileSuccess",
  "SpecNotSent",
  "SpecNotObserved",
  "",
]);

/**
 * Returns the state. One that is ready stays so while its last change fails, as databases do; the reason says which failure. One whose
 * deletion fails is `deleting` with the reason of the failure.
 */
export function objectStateOf({ metadata, conditions }: StatefulObject): ObjectState {
  const ready = findCondition(conditions, "Ready");
  const synced = findCondition(conditions, "Synced");
  const problem = synced?.status === "False" ? (synced.reason ?? "") : undefined;
  const reason = problem ?? ready?.reason ?? "";
  if (metadata.deletionTimestamp !== undefined)
    return { state: holdingReasons.has(reason) ? "held" : "deleting", reason };
  if (ready?.status === "True") return { state: "ready", reason };
  return { state: [problem, ready?.reason].every(isPending) ? "pending" : "failed", reason };
}

function isPending(reason: string | undefined): boolean {
  return reason === undefined || pendingReasons.has(reason) || reason.startsWith("Waiting");
}
