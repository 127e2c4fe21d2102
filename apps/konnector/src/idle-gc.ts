/**
 * Gives memory back after the start, after a term of the lease began, and after a backlog. V8 collects old garbage when more is allocated; a
 * standby, or an agent that has just synced thousands of claims and then has nothing to do, would keep all of it. So it is asked once, when it
 * has been quiet for a while.
 */
import type { Clock } from "@klutch/kube";

/** Options of the collection. */
export interface IdleGcOptions {
  readonly clock: Clock;
  /** Reconciles of pairs so far. */
  readonly reconciles: () => number;
  /** Times that the agent was started so far: once in each term of the lease, and after a failure. */
  readonly starts: () => number;
  readonly collect: () => void;
}

const checkEveryMs = 5_000;
/** Fewer reconciles leave nothing worth a pause of some 50 ms; the start and the beginning of a term leave as much. */
const worthwhile = 500;

/** Watches until the signal aborts. */
export async function collectWhenIdle(
  { clock, reconciles, starts, collect }: IdleGcOptions,
  signal: AbortSignal,
): Promise<void> {
  const work = (): number => reconciles() + starts() * worthwhile;
  let collectedAt = -worthwhile;
  let before = work();
  while (!signal.aborted) {
    await clock.sleep(checkEveryMs, { signal }).catch(() => undefined);
    const now = work();
    if (now === before && now - collectedAt >= worthwhile) {
      collect();
      collectedAt = now;
    }
    before = now;
  }
}
