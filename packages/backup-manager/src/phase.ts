/** Maps the state of a backup or a restore to phases for a controller. */

/**
 * `InProgress`: ask again. `Succeeded`: a backup can be restored, a restore has ended well. `Failed`: it will not get better.
 * `Deleted`: its data are gone, only the record is left. `Unknown`: a word that this client does not know; nothing may be concluded.
 */
export type Phase = "InProgress" | "Succeeded" | "Failed" | "Deleted" | "Unknown";

const phases: ReadonlyMap<string, Phase> = new Map([
  ["queued", "InProgress"],
  ["running", "InProgress"],
  ["done", "Succeeded"],
  ["failed", "Failed"],
  ["deleted", "Deleted"],
]);

/**
 * The phase of a `state` as the manager gives it. The five states of the API are matched as they are written; anything else, also in
 * other letters, is `Unknown`, which is neither an error nor an end.
 */
export function phaseOf(state: string): Phase {
  return phases.get(state) ?? "Unknown";
}

/** Returns true if the phase changes no more without a new request. A backup that succeeded can still become `Deleted` when its retention ends. */
export function isFinal(phase: Phase): boolean {
  return phase === "Succeeded" || phase === "Failed" || phase === "Deleted";
}
