/**
 * The interlock before the only upstream delete that no deletion timestamp announced: a bound object of the provider whose consumer is
 * not to be found. It dies only after two live 404s from the same cluster, a grace time apart, and only if its claim can have been
 * deleted as a claim: not when the kind is not served in the app cluster, and not when all claims went with an earlier CRD.
 */

/** Facts about one orphan. Times are monotonic milliseconds. */
export interface OrphanObservation {
  /** When a live read of the consumer first answered 404; undefined before that. */
  readonly missingSince: number | undefined;
  readonly now: number;
  readonly graceMs: number;
  /** Orphans confirmed within the last `windowMs` for this provider, this one not counted. */
  readonly recentDeletions: number;
  /** Limit of deletions within the window; more are held. */
  readonly breakerLimit: number;
}

/** Next step for an orphan. */
export type OrphanPlan =
  | { readonly do: "checkLive" }
  | { readonly do: "wait"; readonly waitMs: number }
  /** One more live read, and delete if it is still missing. */
  | { readonly do: "confirmAndDelete" }
  /** Too many at once: a wiped cluster shows exactly this. */
  | { readonly do: "hold" };

/** Decides for one orphan. */
export function planOrphan(observed: OrphanObservation): OrphanPlan {
  if (observed.missingSince === undefined) return { do: "checkLive" };
  const waitMs = observed.missingSince + observed.graceMs - observed.now;
  if (waitMs > 0) return { do: "wait", waitMs };
  return observed.recentDeletions >= observed.breakerLimit ? { do: "hold" } : { do: "confirmAndDelete" };
}

/**
 * What the absence of a claim means, given the CRD that is in force in the app cluster. Times are of two clusters' clocks, in whole seconds; an
 * upstream object that is older than the CRD had its claim under an earlier one. So may one of the same second have had: it counts as lost
 * too, because bringing a claim back does less harm than deleting what it stood for.
 */
export function judgeAbsence(
  crd: { readonly isInForce: boolean; readonly createdAt: string | undefined },
  upstreamCreatedAt: string | undefined,
): "nothing" | "lostWithCrd" | "deleted" {
  if (!crd.isInForce) return "nothing";
  const [crdSince, upstreamSince] = [Date.parse(crd.createdAt ?? ""), Date.parse(upstreamCreatedAt ?? "")];
  return upstreamSince <= crdSince ? "lostWithCrd" : "deleted";
}

/** Counts the claims of one API over a window of time. */
export interface ClaimCounts {
  /** Most claims that were alive at once within the window. */
  readonly peak: number;
  /** Claims that are alive now: neither gone nor being deleted. */
  readonly alive: number;
  /** Fewer lost claims are never a mass deletion; 0: no number is. */
  readonly limit: number;
}

/**
 * Returns whether further upstream deletions are held: at least `limit` claims, and at least half of them all, went within the window. A
 * population that is replaced object by object passes; a namespace or a cluster that is wiped does not.
 */
export function isMassDeletion({ peak, alive, limit }: ClaimCounts): boolean {
  return limit > 0 && peak - alive >= limit && alive * 2 <= peak;
}
