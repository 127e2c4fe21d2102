/** Notices when the provider cannot be reached, and reports since when and how much waits; never in a user's status. */
import { type Clock, isUnauthorized } from "@klutch/kube";
import { wholeSeconds } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";

/** Options of the watch. */
export interface ReachabilityOptions {
  readonly clock: Clock;
  /** A cache of the provider that is always open. */
  readonly cache: ReadYourWritesCache;
  readonly unreachableAfterMs: number;
  /** Keys that wait for the provider. */
  readonly pending: () => number;
  /** Called when it begins, about every minute while it lasts, and with undefined when it is over. */
  readonly onChange: (outage: Outage | undefined) => void;
}

/** A time without the provider. */
export interface Outage {
  /** RFC 3339, whole seconds. */
  readonly since: string;
  /** Changes that wait. */
  readonly pending: number;
  /** Error of the last attempt. */
  readonly error: unknown;
}

const checkEveryMs = 2_000;
const reportEveryMs = 60_000;

/** Checks until the signal aborts. */
export async function watchReachability(options: ReachabilityOptions, signal: AbortSignal): Promise<void> {
  const { clock, cache, unreachableAfterMs, pending, onChange } = options;
  let since: string | undefined;
  let reportedAt = 0;
  let reportedRefusal = false;
  while (!signal.aborted) {
    await clock.sleep(checkEveryMs, { signal }).catch(() => undefined);
    const { failingSince, lastError } = cache.informer.status();
    const now = clock.monotonic();
    const isOut = failingSince !== undefined && now - failingSince >= unreachableAfterMs;
    if (!isOut) {
      if (since !== undefined) onChange(undefined);
      since = undefined;
      continue;
    }
    // That it answers but refuses is news.
    if (
      since !== undefined &&
      now - reportedAt < reportEveryMs &&
      isUnauthorized(lastError) === reportedRefusal
    )
      continue;
    since ??= wholeSeconds(clock.now() - (now - failingSince));
    reportedAt = now;
    reportedRefusal = isUnauthorized(lastError);
    onChange({ since, pending: pending(), error: lastError });
  }
}
