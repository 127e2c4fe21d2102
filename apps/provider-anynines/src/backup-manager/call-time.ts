/** How long calls to a backup manager take, and how often it is called. */

/** One call, in milliseconds. */
export const callTimeoutMs = 60_000;
/** A call that is older is not on its way any more, in milliseconds. */
export const settleMs: number = 2 * callTimeoutMs;
const longestWaitMs = 60_000;

/** When to look again for what is `ageMs` old and should have happened by now: ever later, at most after a minute. */
export function everLater(ageMs: number, shortestMs: number): number {
  return Math.min(Math.max(ageMs / 2, shortestMs), longestWaitMs);
}
