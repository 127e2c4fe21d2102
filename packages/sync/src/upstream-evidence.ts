/** Evidence in the app cluster alone that a claim had an upstream object. */
import { syncerFinalizer } from "@klutch/api";
import { recordAt } from "@klutch/kube-core";
import { asConditions, isFresh } from "./status-conditions.ts";
import type { WithStatus } from "./status-evidence.ts";
import { isNeverSent } from "./status-projection.ts";

/**
 * Returns true if the claim has our finalizer and a status that came from an upstream object. The finalizer alone is no evidence: it goes out beside
 * the first upstream write, or comes with the claim. A claim whose upstream object never had a status leaves none. A konnector in Go copies
 * statuses unchanged, so its claims are judged in the same way.
 */
export function wasUpstream({ metadata, status }: WithStatus): boolean {
  if (metadata.finalizers?.includes(syncerFinalizer) !== true || isFresh(status)) return false;
  const { observedGeneration: _ours, conditions: _conditions, ...others } = recordAt(status);
  if (Object.keys(others).length > 0) return true;
  return asConditions(status).some((condition) => condition.type !== "Ready" || !isNeverSent(condition));
}
