/** Limits that keep one app cluster from taking what the others need. */
import { Places } from "./places.ts";
import type { Failure } from "./status.ts";

/** Limits of one account. */
export interface TenantLimits {
  /** Open watches. Default 2 000. */
  readonly mostWatches?: number | undefined;
  /** Open watches that the API server answers, where each costs memory. Default 500. */
  readonly mostPassedWatches?: number | undefined;
  /** Other requests that are under way. Default 100: a konnector sends at most 64 at once. */
  readonly mostRequests?: number | undefined;
}

/** Bytes of bodies that the gateway holds for one account. */
const mostBodyBytes = 32 * 1024 * 1024;

/** Bytes of answers that wait for one account's clients to read on. */
const mostUnreadBytes = 32 * 1024 * 1024;

/** Something that takes a place. */
export type PlaceKind = "watch" | "passedWatch" | "request" | "body" | "unread";

/** A place, which is given back by disposing it; or a refusal. */
export type Taken = (Disposable & { readonly refusal?: undefined }) | { readonly refusal: Failure };

interface Rule {
  readonly places: Places;
  readonly retryAfterSeconds: number;
  readonly words: string;
}

/** Gives places to accounts, or says why there is none. */
export type TakePlace = (kind: PlaceKind, account: string, count?: number) => Taken;

/** Returns the limits with all places free. */
export function createTenantLimits(limits: TenantLimits): TakePlace {
  const { mostWatches = 2_000, mostPassedWatches = 500, mostRequests = 100 } = limits;
  const rules: Readonly<Record<PlaceKind, Rule>> = {
    watch: {
      places: new Places(mostWatches),
      retryAfterSeconds: 5,
      words: `has ${mostWatches} watches open, the most that --max-watches allows`,
    },
    passedWatch: {
      places: new Places(mostPassedWatches),
      retryAfterSeconds: 5,
      words: `has ${mostPassedWatches} watches open at the API server, the most that --max-passed-watches allows`,
    },
    request: {
      places: new Places(mostRequests),
      retryAfterSeconds: 1,
      words: `has ${mostRequests} requests under way, the most that --max-requests allows`,
    },
    body: {
      places: new Places(mostBodyBytes),
      retryAfterSeconds: 1,
      words: `sends more than ${mostBodyBytes} bytes at the same time`,
    },
    unread: {
      places: new Places(mostUnreadBytes),
      retryAfterSeconds: 5,
      words: `leaves more than ${mostUnreadBytes} bytes of answers unread`,
    },
  };
  return (kind, account, count = 1) => {
    const { places, retryAfterSeconds, words } = rules[kind];
    const taken = places.take(account, count);
    if (taken !== undefined) return taken;
    const message = `the tenant gateway refuses this request: its account ${words}; try again later`;
    return { refusal: { code: 429, reason: "TooManyRequests", message, retryAfterSeconds } };
  };
}
