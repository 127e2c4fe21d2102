/**
 * Gives memory back after a backlog. V8 collects old garbage when more is allocated; an agent that has just synced thousands of claims
 * and then has nothing to do would keep all of it. So it is asked once, when it has been quiet for a while.
 */
import type { Clock } from "@klutch/kube";

/** What is needed to know when. */
export interface TidyOptions {
  readonly clock: Clock;
  /** How many pairs were looked at so far. */
  readonly looks: () => number;
  readonly collect: () => void;
}

const lookEveryMs = 5_000;
/** Fewer looks leave nothing worth a pause of some 50 ms. */
const worthwhile = 500;

/** Watches until the signal aborts. */
export async function tidyWhenQuiet(
  { clock, looks, collect }: TidyOptions,
  signal: AbortSignal,
): Promise<void> {
  let collectedAt = looks();
  let before = collectedAt;
  while (!signal.aborted) {
    await clock.sleep(lookEveryMs, { signal }).catch(() => undefined);
    const now = looks();
    if (now === before && now - collectedAt >= worthwhile) {
      collect();
      collectedAt = now;
    }
    before = now;
  }
}
