/**
 * Keeps polls of logins on another device apart, and ends them. The time of the next poll travels in the handle, so it holds across replicas; what
 * a replica has seen itself holds for earlier handles of the same login, too. Bounded: beyond `capacity` the oldest logins are forgotten.
 */
import type { Clock } from "@klutch/kube";

/** Answers for one replica. */
export interface PollPace {
  /** Returns how long a poll has to wait; `ended` for a login that has its offer. */
  waitMs(login: string, sealedNextAt: number): number | "ended";
  /** A poll goes on now; the next one is at this time at the earliest. Changes nothing for a login that has ended. */
  asked(login: string, nextAt: number): void;
  /** Takes the login for its offer; false if it was taken before. */
  end(login: string): boolean;
}

/** Creates it. Times are of the wall clock, because replicas compare them. */
export function createPollPace({
  clock,
  capacity,
  longestMs,
}: {
  readonly clock: Clock;
  readonly capacity: number;
  /** Longest wait, also after a clock was put back. */
  readonly longestMs: number;
}): PollPace {
  /** Login → time of its next poll; infinite for one that has ended. */
  const next = new Map<string, number>();
  const set = (login: string, nextAt: number): void => {
    next.delete(login);
    next.set(login, nextAt);
    if (next.size > capacity) next.delete(next.keys().next().value ?? "");
  };
  return {
    waitMs(login, sealedNextAt) {
      const seen = next.get(login) ?? -Infinity;
      if (seen === Infinity) return "ended";
      return Math.min(longestMs, Math.max(0, Math.max(seen, sealedNextAt) - clock.now()));
    },
    asked(login, nextAt) {
      // A slow answer to an earlier poll must not open a login again.
      if (next.get(login) !== Infinity) set(login, nextAt);
    },
    end(login) {
      if (next.get(login) === Infinity) return false;
      set(login, Infinity);
      return true;
    },
  };
}
