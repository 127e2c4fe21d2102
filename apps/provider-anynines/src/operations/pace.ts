/** Says when a backend is asked again. All times are in milliseconds. */
import { backoffLimit } from "@klutch/kube-runtime";

/** Waits after errors of a backend: the first one, and the longest one; they double. */
export const retryLimits: { readonly baseMs: number; readonly capMs: number } = {
  baseMs: 1_000,
  capMs: 60_000,
};

const longestPollMs = 30_000;
const firstRetryMs = 5_000;
const longestRetryMs = 600_000;

/**
 * Returns when to ask again for an operation that began `ageMs` ago: after a tenth of its age, so fast at first and rarely for an operation
 * that takes an hour. A negative age, of a clock that differs from ours, counts as zero.
 */
export function pollDelayMs(ageMs: number, shortestMs = 1_000): number {
  return Math.min(Math.max(ageMs / 10, shortestMs), longestPollMs);
}

/** Returns how long to wait after the `tries`-th failed try of a recorded operation: 5 s, then twice as long each time, at most 10 min. */
export function retryDelayMs(tries: number): number {
  return Math.min(firstRetryMs * 2 ** Math.max(tries - 1, 0), longestRetryMs);
}

/** Returns how much longer to wait before the next attempt of a deletion that failed `failures` times; undefined: no longer. */
export function deletionDelayMs(failures: number, failedAt: number, now: number): number | undefined {
  const waitMs = backoffLimit(retryLimits, failures - 1);
  // A clock that was set back must not make the wait longer.
  const leftMs = Math.min(failedAt + waitMs - now, waitMs);
  return leftMs > 0 ? leftMs : undefined;
}
