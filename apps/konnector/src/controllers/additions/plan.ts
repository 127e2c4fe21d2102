/** Decides what to do about APIs that the provider announces: show them, tell of those that are new, bind those that were allowed beforehand. */
import { type AnnouncedApi, crdNameOf, isAutoBindApi } from "@klutch/api";
import type { AutoBind } from "../../config.ts";

/** Facts about one provider. */
export interface ObservedAdditions {
  readonly announced: readonly AnnouncedApi[];
  /** Names of all bindings of the app cluster, to any provider. */
  readonly bound: ReadonlySet<string>;
  /** APIs that the bindings of this provider show, or showed before this process. */
  readonly shown: readonly AnnouncedApi[];
  /** Undefined where nothing is bound by itself. */
  readonly autoBind: AutoBind | undefined;
  /** Number of bindings that this konnector has created. */
  readonly autoBound: number;
}

/** Names are those of APIs, `<plural>.<group>`. */
export interface AdditionsPlan {
  /** Not bound yet. */
  readonly show: readonly AnnouncedApi[];
  /** Shown for the first time, and left to people. */
  readonly tell: readonly string[];
  /** To be bound now. */
  readonly bind: readonly string[];
  /** Would be bound, and are too many. */
  readonly held: readonly string[];
}

/** Most bindings that the konnector creates by itself: each costs watches on both sides, and the provider chooses how many APIs there are. */
export const mostAutoBound = 32;

/**
 * Returns the plan. The opt-in of the app cluster decides which APIs are bound; the provider's words can only leave some out: an API that asks
 * for rights on objects of the app cluster is left to people.
 */
export function planAdditions(observed: ObservedAdditions): AdditionsPlan {
  const { announced, bound, shown, autoBind, autoBound } = observed;
  const show = announced.filter((api) => !bound.has(crdNameOf(api)));
  const wanted = show.filter((api) => isWanted(api, autoBind)).map(crdNameOf);
  const room = Math.max(mostAutoBound - autoBound, 0);
  const bind = wanted.slice(0, room);
  const before = new Set(shown.map(crdNameOf));
  const tell = show.map(crdNameOf).filter((name) => !before.has(name) && !bind.includes(name));
  return { show, tell, bind, held: wanted.slice(room) };
}

function isWanted(api: AnnouncedApi, autoBind: AutoBind | undefined): boolean {
  if (autoBind === undefined || api.asksPermissions === true) return false;
  return isAutoBindApi(crdNameOf(api), autoBind);
}
