/** How often a broker or a backup manager is asked for what is being done. */
const longestMs = 30_000;

/**
 * When to ask again for what was begun `ageMs` ago: after a tenth of its age, so fast at first, and what takes an hour is not asked for every
 * second. All in milliseconds; an age below zero, of a clock that differs from ours, is no age.
 */
export function pollDelayMs(ageMs: number, shortestMs = 1_000): number {
  return Math.min(Math.max(ageMs / 10, shortestMs), longestMs);
}
