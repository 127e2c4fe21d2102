/** Who still uses an instance: it is neither deleted before they are gone nor changed while a restore runs. No I/O. */
import { ExternalError } from "@klutch/crossplane";
import { notWhile } from "./waiting.ts";

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
