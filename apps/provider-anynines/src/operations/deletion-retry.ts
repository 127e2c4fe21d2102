/**
 * When a deletion that the broker accepted and then failed is asked for again. Each time it accepts looks like a success, so the work queue
 * cannot count: the record of the operation does.
 */
import { backoffLimit } from "@klutch/kube-runtime";
import type { BrokerOperation } from "../records/operation.ts";

/** Waits after errors of a backend, in milliseconds: the first one, and the longest; they double. */
export const retryLimits: { readonly baseMs: number; readonly capMs: number } = {
  baseMs: 1_000,
  capMs: 60_000,
};

/** What a record of a deletion that has just failed says besides. Of other operations nothing. */
export function countFailure({ type, failures = 0 }: BrokerOperation, now: number): Partial<BrokerOperation> {
  const isDeletion = type === "delete" || type === "discard";
  return isDeletion ? { failures: failures + 1, failedAt: now } : {};
}

/** What the next attempt of the same type keeps. */
export function keepCount(
  before: BrokerOperation | undefined,
  type: BrokerOperation["type"],
): Partial<BrokerOperation> {
  return before?.type === type && before.failures !== undefined ? { failures: before.failures } : {};
}

/** Milliseconds until the next attempt; undefined when it may be made now. */
export function deletionWaitMs(operation: BrokerOperation | undefined, now: number): number | undefined {
  const { phase, failures = 0, failedAt } = operation ?? {};
  if (phase !== "failed" || failures === 0 || failedAt === undefined) return undefined;
  const waitMs = backoffLimit(retryLimits, failures - 1);
  // A clock that was set back must not make it longer.
  const leftMs = Math.min(failedAt + waitMs - now, waitMs);
  return leftMs > 0 ? leftMs : undefined;
}
