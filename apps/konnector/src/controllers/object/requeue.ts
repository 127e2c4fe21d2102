/** When a pair is reconciled again although nothing changed. */
import type { ReconcileResult } from "@klutch/kube-runtime";
import { wakeReasons } from "../../wake-reasons.ts";

/** Asks for a reconcile when the claim's status is to say that its answer is overdue. */
export function overdue(inMs: number | undefined): ReconcileResult | undefined {
  return inMs === undefined ? undefined : { requeueAfterMs: inMs, reason: wakeReasons.overdue };
}

/** Returns the request that is due first; either may be missing. */
export function sooner(
  one: ReconcileResult | undefined,
  other: ReconcileResult | undefined,
): ReconcileResult | undefined {
  if (one?.requeueAfterMs === undefined) return other;
  return other?.requeueAfterMs === undefined || one.requeueAfterMs < other.requeueAfterMs ? one : other;
}
