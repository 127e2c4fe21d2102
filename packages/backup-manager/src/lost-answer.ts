/**
 * Finds the object of a call whose answer was lost. The API takes no key from its caller, so only the list can tell: new entries in it
 * by the manager's own numbers and its own clock. A controller proceeds as follows:
 *
 * | step | what |
 * |---|---|
 * | 1 | list, take {@link createIntent}, and store it where a crash does not lose it |
 * | 2 | call `createBackup` or `createRestore`; store the id of the answer and forget the intent |
 * | 3 | an error for which `mayHaveHappened` is false: forget the intent |
 * | 4 | any other error, or an intent that is found after a crash: list, and do as {@link findLostBackup} says |
 * | 5 | to call again after `none`: store the new time of the call, and keep the rest of the intent |
 *
 * The caller must create for one instance sequentially, and list every known id in `claimed`.
 * The manager is assumed to have growing ids or growing times.
 */
import type { Backup, Restore } from "./types.ts";

/** State to remember before a call that creates. */
export interface CreateIntent {
  /** The highest id that the list had; 0 for an empty one. */
  readonly newestIdBefore: number;
  /** The latest time in the list, by the manager's clock, in milliseconds since 1970 (UTC). Undefined when the list had none. */
  readonly newestAtMsBefore?: number | undefined;
  /** Time just before the call was sent, by our clock, in milliseconds since 1970 (UTC). */
  readonly sentAtMs: number;
}

/** Knowledge at the time of the list. */
export interface SearchOptions {
  /** Time by the clock of the intent, in milliseconds since 1970 (UTC). */
  readonly nowMs: number;
  /** Ids that belong to other resources. */
  readonly claimed: ReadonlySet<number>;
  /** Time after which a request counts as lost, in milliseconds; at least twice the time of a call. Default 120 000. */
  readonly settleMs?: number | undefined;
}

/** Conclusion from the list about the lost answer. */
export type LostAnswer<T> =
  /** This is it: take it. */
  | { readonly kind: "found"; readonly item: T }
  /**
   * One of these is it, the lowest id first; other parties made the others, such as the manager itself. All were made after the
   * intent. Take the first or ask a person, but do not call again.
   */
  | { readonly kind: "several"; readonly items: readonly [T, ...T[]] }
  /** Not found yet, but the request may still arrive. Look again after this time in milliseconds; do not call again before. */
  | { readonly kind: "wait"; readonly forMs: number }
  /** The call came to nothing: it may be made again. */
  | { readonly kind: "none" };

interface Item {
  readonly id: number;
  readonly triggeredAtMs?: number | undefined;
}

/** Returns the state to remember before a call. `present` is the present list of all backups, or all restores, of the instance. */
export function createIntent(present: readonly Item[], nowMs: number): CreateIntent {
  let newestIdBefore = 0;
  let newestAtMsBefore: number | undefined;
  for (const { id, triggeredAtMs } of present) {
    newestIdBefore = Math.max(newestIdBefore, id);
    if (triggeredAtMs !== undefined) newestAtMsBefore = Math.max(newestAtMsBefore ?? 0, triggeredAtMs);
  }
  return { newestIdBefore, newestAtMsBefore, sentAtMs: nowMs };
}

/**
 * Finds the result of a `createBackup`. `backups` is a list that was requested after the call ended. A backup counts in any state: one that
 * failed or was deleted since is the result, too.
 */
export function findLostBackup(
  backups: readonly Backup[],
  intent: CreateIntent,
  options: SearchOptions,
): LostAnswer<Backup> {
  return find(backups, intent, options);
}

/** The same for a `createRestore` of the backup: a restore of another backup is not it. */
export function findLostRestore(
  restores: readonly Restore[],
  backupId: number,
  intent: CreateIntent,
  options: SearchOptions,
): LostAnswer<Restore> {
  return find(
    restores.filter((restore) => restore.backupId === undefined || restore.backupId === backupId),
    intent,
    options,
  );
}

function find<T extends Item>(
  items: readonly T[],
  intent: CreateIntent,
  { nowMs, claimed, settleMs = 120_000 }: SearchOptions,
): LostAnswer<T> {
  const [first, ...others] = [...new Map(items.map((item) => [item.id, item])).values()]
    .filter((item) => isNew(item, intent) && !claimed.has(item.id))
    .toSorted((a, b) => a.id - b.id);
  if (first !== undefined)
    return others.length === 0
      ? { kind: "found", item: first }
      : { kind: "several", items: [first, ...others] };
  // A clock that was set back must not make anybody wait for hours.
  const forMs = Math.min(settleMs, intent.sentAtMs + settleMs - nowMs);
  return forMs > 0 ? { kind: "wait", forMs } : { kind: "none" };
}

/** Recognises a new entry by its id or by its time: either alone suffices, also for a manager whose ids fall or whose clock stands still. */
function isNew({ id, triggeredAtMs }: Item, { newestIdBefore, newestAtMsBefore }: CreateIntent): boolean {
  if (id > newestIdBefore) return true;
  return triggeredAtMs !== undefined && newestAtMsBefore !== undefined && triggeredAtMs > newestAtMsBefore;
}
