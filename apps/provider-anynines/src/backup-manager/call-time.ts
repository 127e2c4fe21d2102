/** How long calls to a backup manager take. */

/** One call, in milliseconds. */
export const callTimeoutMs = 60_000;
/** A call that is older is not on its way any more, in milliseconds. */
export const settleMs: number = 2 * callTimeoutMs;
