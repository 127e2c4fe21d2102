/**
 * Reasons that the konnector gives for reconciles, beside those of its controllers (a watched kind changed, a retry, a requeue). They stand
 * in each log line of a reconcile (`reasons`); docs/troubleshooting.md tells how to read them.
 */

/** The reasons for which a key is enqueued. */
export const wakeReasons = {
  consumerListed: "consumer object listed",
  consumerChanged: "consumer object changed",
  /** A cluster-scoped claim is gone, so its upstream object may belong to another claim. */
  nameReleased: "another claim released the upstream name",
  /** The object vanished from a cache that had it from our own write only. */
  consumerVanished: "consumer object vanished before it was watched",
  providerListed: "provider object listed",
  providerChanged: "provider object changed",
  providerVanished: "provider object vanished before it was watched",
  /** The provider's cache is filled and does not show the object. */
  providerAbsent: "provider cache filled without the object",
  providerFilled: "provider cache filled",
  /** The provider answers again, and this key had failed meanwhile. */
  providerBack: "provider answers again",
  namespaceMapped: "namespace mapping changed",
  cacheFilled: "cache filled",
  /** The provider has not answered the claim for so long that the claim's status is to say so. */
  overdue: "answer overdue",
  /** The deletion of the claim waited for others, which together could be an accident. */
  deletionSettles: "deletion settled",
  /** A person released held deletions. */
  resync: "resync of all objects",
  /** The quota of copies has room again. */
  quotaFreed: "quota freed",
  /** An object of the app cluster itself has, or had, the name of a claimed object. */
  nameTaken: "name taken by another object",
  conditionReported: "binding condition reported",
  /** The limit of the API, or the number of its objects, changed, or the provider refused one for it. */
  limitChanged: "limit changed",
  limitReached: "provider refused the object for its limit",
  /** The provider announces other APIs than before. */
  additionsAnnounced: "APIs announced",
  /** A control plane wants another version of the konnector than before. */
  versionWanted: "konnector version wanted",
  updatesSaid: "words about updates changed",
  bindingsChanged: "bindings of the provider changed",
  started: "controller started",
} as const;
