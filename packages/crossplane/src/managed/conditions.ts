/** Conditions of managed resources. */
import { findCondition, type StandardCondition, withCondition } from "@klutch/kube-core";
import type { Managed, Observation } from "./external.ts";

/** A condition without its time. */
export type NewCondition = Omit<StandardCondition, "lastTransitionTime">;

const readyReasons = {
  available: ["True", "Available"],
  creating: ["False", "Creating"],
  deleting: ["False", "Deleting"],
  unavailable: ["False", "Unavailable"],
  unknown: ["Unknown", "Unknown"],
} as const;

/** `Ready` from what was observed. `reason`: in place of the usual one. */
export function readyCondition(
  ready: Observation["ready"],
  message?: string,
  reason: string = readyReasons[ready][1],
): NewCondition {
  const [status] = readyReasons[ready];
  return { type: "Ready", status, reason, ...(message === undefined ? {} : { message }) };
}

/** `Synced` is True: the last reconcile did all it had to. */
export const synced: NewCondition = { type: "Synced", status: "True", reason: "ReconcileSuccess" };

/** `Synced` is False, and why; `reason` is one word. */
export function notSynced(message: string, reason = "ReconcileError"): NewCondition {
  return { type: "Synced", status: "False", reason, message };
}

/** `Synced` is False because people asked for a pause. */
export const paused: NewCondition = { type: "Synced", status: "False", reason: "ReconcilePaused" };

/** Returns the problem with the current spec that `Synced` reports; undefined when there is none. */
export function standingProblem({ metadata, status }: Managed): NewCondition | undefined {
  const standing = findCondition(status?.conditions, "Synced");
  if (standing?.status !== "False" || standing.reason === paused.reason) return undefined;
  if (standing.observedGeneration !== metadata.generation) return undefined;
  const { message = "", reason } = standing;
  return notSynced(message, reason);
}

/** The managed resource's conditions with `changes` in them and the generation that was seen; `now` is RFC 3339. */
export function withConditions(
  managed: Managed,
  changes: readonly NewCondition[],
  now: string,
): readonly StandardCondition[] {
  const { generation: observedGeneration } = managed.metadata;
  return changes.reduce<readonly StandardCondition[]>((conditions, change) => {
    const seen = observedGeneration === undefined ? change : { ...change, observedGeneration };
    return withCondition(conditions, seen, now);
  }, managed.status?.conditions ?? []);
}
