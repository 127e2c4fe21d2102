/** Conditions of managed resources. */
import type { Managed, ManagedCondition, Observation } from "./external.ts";

/** A condition without its time. */
export type NewCondition = Omit<ManagedCondition, "lastTransitionTime">;

const readyReasons = {
  available: ["True", "Available"],
  creating: ["False", "Creating"],
  deleting: ["False", "Deleting"],
  unavailable: ["False", "Unavailable"],
} as const;

/** `Ready` from what was observed. */
export function readyCondition(ready: Observation["ready"], message?: string): NewCondition {
  const [status, reason] = readyReasons[ready];
  return { type: "Ready", status, reason, ...(message === undefined ? {} : { message }) };
}

/** `Synced` is True: the last reconcile did all it had to. */
export const synced: NewCondition = { type: "Synced", status: "True", reason: "ReconcileSuccess" };

/** `Synced` is False, and why. */
export function notSynced(message: string): NewCondition {
  return { type: "Synced", status: "False", reason: "ReconcileError", message };
}

/** `Synced` is False because people asked for a pause. */
export const paused: NewCondition = { type: "Synced", status: "False", reason: "ReconcilePaused" };

/** The managed resource's conditions with `changes` in them; times move only when status, reason or message do. */
export function withConditions(
  managed: Managed,
  changes: readonly NewCondition[],
  now: string,
): readonly ManagedCondition[] {
  const conditions = new Map(
    (managed.status?.conditions ?? []).map((condition) => [condition.type, condition]),
  );
  const observedGeneration = managed.metadata.generation;
  for (const change of changes) {
    const previous = conditions.get(change.type);
    const unchanged =
      previous?.status === change.status &&
      previous.reason === change.reason &&
      previous.message === change.message;
    const lastTransitionTime = unchanged ? previous.lastTransitionTime : now;
    conditions.set(change.type, {
      ...change,
      lastTransitionTime,
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    });
  }
  return [...conditions.values()].toSorted((left, right) => (left.type < right.type ? -1 : 1));
}
