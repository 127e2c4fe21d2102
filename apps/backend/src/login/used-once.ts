/**
 * Remembers what was used, so that it is not used again. Bounded: beyond `capacity` the oldest are forgotten. It lives in one process; for
 * logins the second guard, across replicas, is the identity provider, which takes each code once.
 */
import type { Clock } from "@klutch/kube";

/** True for the first `take` of a value within its lifetime. */
export interface UsedOnce {
  take(value: string): boolean;
}

export function createUsedOnce(options: {
  readonly clock: Clock;
  readonly lifetimeMs: number;
  readonly capacity: number;
}): UsedOnce {
  const { clock, lifetimeMs, capacity } = options;
  /** Value → when it may be forgotten; in the order of use. */
  const used = new Map<string, number>();
  return {
    take(value) {
      const now = clock.monotonic();
      for (const [old, until] of used) {
        if (until > now && used.size < capacity) break;
        used.delete(old);
      }
      if (used.has(value)) return false;
      used.set(value, now + lifetimeMs);
      return true;
    },
  };
}
