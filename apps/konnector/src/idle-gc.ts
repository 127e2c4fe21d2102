/**
 * Gives memory back after a backlog. V8 collects old garbage when more is allocated; an agent that has just synced thousands of claims
 * and then has nothing to do would keep all of it. So it is asked once, when it has been quiet for a while.
 */
import type { Clock } from "@klutch/kube";

/** Options of the collection. */
export interface IdleGcOptions {
  readonly clock: Clock;
  /** Reconciles of pairs so far. */
  readonly reconciles: () => number;
  readonly collect: () => void;
}

const checkEveryMs = 5_000;
/** Fewer reconciles leave nothing worth a pause of some 50 ms. */
const worthwhile = 500;

/** Watches until the signal aborts. */
export async function collectWhenIdle(
  { clock, reconciles, collect }: IdleGcOptions,
  signal: AbortSignal,
): Promise<void> {
  let collectedAt = reconciles();
  let before = collectedAt;
  while (!signal.aborted) {
    await clock.sleep(checkEveryMs, { signal }).catch(() => undefined);
    const now = reconciles();
    if (now === before && now - collectedAt >= worthwhile) {
      collect();
      collectedAt = now;
    }
    before = now;
  }
}
