/** Says what a managed resource waits for in this cluster, and who still uses an instance. No I/O. */
import { ExternalError, NotYetError } from "@klutch/crossplane";

/** A change wakes the resource that waits; this is for changes that no watch shows. */
const unseenMs = 60_000;
const soonMs = 5_000;

/** Something has to be made or to become ready; asked again after a minute. */
export function notYet(message: string, waitingFor: "Instance" | "Backup" = "Instance"): NotYetError {
  return new NotYetError(message, { requeueAfterMs: unseenMs, reason: `WaitingFor${waitingFor}` });
}

/** Something runs and ends by itself; asked again after five seconds. */
export function notWhile(running: "Restore" | "Backup", message: string, cause?: Error): NotYetError {
  return new NotYetError(message, { cause, requeueAfterMs: soonMs, reason: `WaitingFor${running}` });
}

/** Names of their claims. */
export interface InstanceUsers {
  /** Restores that put something into it now. */
  readonly restores: readonly string[];
  /** Bindings that its broker may know. */
  readonly bindings: readonly string[];
  /** Backups of it that are not gone at their backup manager. */
  readonly backups: readonly string[];
}

/** Throws when somebody uses the instance, and says who has to go first, in the order in which they can. */
export function checkUnused({ restores, bindings, backups }: InstanceUsers): void {
  const all = [
    {
      users: restores,
      reason: "StillRestoring",
      is: "still restored by",
      advice: "wait until they have ended",
    },
    {
      users: bindings,
      reason: "StillBound",
      is: "still bound by",
      advice: "delete these ServiceBindings first",
    },
    {
      users: backups,
      reason: "StillBackedUp",
      is: "still needed by the backups",
      advice: "delete these Backups first",
    },
  ].filter(({ users }) => users.length > 0);
  const [first] = all;
  if (first === undefined) return;
  const words = all.map(({ users, is, advice }) => `${is} ${users.join(", ")}; ${advice}`);
  throw new ExternalError(`the instance is ${words.join("; it is ")}`, { reason: first.reason });
}

/** Throws `NotYetError` while a restore runs. `what` waits for its end, for people. */
export function checkNotRestored(restores: readonly string[], what: string): void {
  const [restore] = restores;
  if (restore === undefined) return;
  throw notWhile("Restore", `the restore ${restore} of the instance is running; ${what} afterwards`);
}
