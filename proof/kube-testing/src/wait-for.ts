/** Waiting for a condition with a deadline, instead of sleeping. */
import { setTimeout as sleep } from "node:timers/promises";

/** Options of `waitFor`. */
export interface WaitOptions {
  /** Default 60 000: a loaded machine is slow, and only a result that never comes takes this long. */
  readonly timeoutMs?: number | undefined;
  /** Time between two questions. Default: a tenth of the time waited so far, at least 25 and at most 500, so that a long wait leaves the cores to what it waits for. */
  readonly intervalMs?: number | undefined;
}

/**
 * Asks `probe` until it gives something other than undefined, null or false, and returns that. An error of the probe counts as
 * "not yet". Throws with the description and the last answer or error when the time is up.
 */
export async function waitFor<T>(
  description: string,
  probe: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  options: WaitOptions = {},
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const sinceMs = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    const waitedMs = performance.now() - sinceMs;
    if (waitedMs > timeoutMs) {
      throw new Error(`waited ${timeoutMs} ms for ${description}; last: ${String(last)}`, { cause: last });
    }
    await sleep(options.intervalMs ?? Math.min(Math.max(waitedMs / 10, 25), 500));
  }
}
