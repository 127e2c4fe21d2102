/**
 * Finds what a call created whose answer was lost. The API takes no key from its caller, so that only the list can tell: what is new in it,
 * and when it was triggered. The way of a controller:
 *
 * | step | what |
 * |---|---|
 * | 1 | list, take {@link createIntent}, and store it where a crash does not lose it |
 * | 2 | call `createBackup` or `createRestore`; store the id of the answer and forget the intent |
 * | 3 | an error for which `mayHaveHappened` is false: forget the intent |
 * | 4 | any other error, or an intent that is found after a crash: list, and do as {@link findLostBackup} says |
 *
 * The caller sees to two things: creates of one instance go one after the other, and every id that a resource has is in `claimed`.
 * Two things are taken from the manager: its ids grow, and it does not use one again.
 */
import type { Backup, Restore } from "./types.ts";

/** What to remember before a call that creates. */
export interface CreateIntent {
  /** The highest id that the list had; 0 for an empty one. */
  readonly newestIdBefore: number;
  /** When the call was about to be sent, by our clock, in milliseconds since 1970 (UTC). */
  readonly sentAtMs: number;
}

/** What is known when the list is looked at. */
export interface SearchOptions {
  /** By the clock of the intent, in milliseconds since 1970 (UTC). */
  readonly nowMs: number;
  /** Ids that belong to other resources. */
  readonly claimed: ReadonlySet<number>;
  /** How long a request may be on its way before it is lost, in milliseconds; at least twice the time of a call. Default 120 000. */
  readonly settleMs?: number | undefined;
  /** How far the manager's clock may be off, in milliseconds. Default 300 000. */
  readonly clockSkewMs?: number | undefined;
}

/** What the list tells of the lost answer. */
export type LostAnswer<T> =
  /** This is it: take it. */
  | { readonly kind: "found"; readonly item: T }
  /**
   * One of these is it, the likeliest first; the others were made by somebody else, such as the manager itself. Each was made after the
   * intent. Take the first or ask somebody, but do not call again.
   */
  | { readonly kind: "several"; readonly items: readonly T[] }
  /** Nothing is there yet, but the request may still arrive. Look again after so many milliseconds; do not call again before. */
  | { readonly kind: "wait"; readonly forMs: number }
  /** The call came to nothing: it may be made again, with an intent of its own. */
  | { readonly kind: "none" };

/** To remember before a call. `present` is what the list has now: of all backups, or all restores, of the instance. */
export function createIntent(present: readonly { readonly id: number }[], nowMs: number): CreateIntent {
  return { newestIdBefore: present.reduce((newest, { id }) => Math.max(newest, id), 0), sentAtMs: nowMs };
}

/**
 * What became of a `createBackup`. `backups` is a list that was asked for after the call ended. A backup counts in any state: one that has
 * failed or was deleted since is the one that was asked for, too.
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

interface Item {
  readonly id: number;
  readonly triggeredAtMs?: number | undefined;
}

function find<T extends Item>(
  items: readonly T[],
  intent: CreateIntent,
  options: SearchOptions,
): LostAnswer<T> {
  const { nowMs, claimed, settleMs = 120_000 } = options;
  const { newestIdBefore, sentAtMs } = intent;
  const isCandidate = (item: T): boolean =>
    item.id > newestIdBefore && !claimed.has(item.id) && !isOfLater(item, intent, options);
  const distance = ({ triggeredAtMs = Infinity }: T): number => Math.abs(triggeredAtMs - sentAtMs);
  const [first, ...others] = [...new Map(items.map((item) => [item.id, item])).values()]
    .filter(isCandidate)
    .toSorted((a, b) => compare(distance(a), distance(b)) || compare(a.id, b.id));
  if (first !== undefined)
    return others.length === 0
      ? { kind: "found", item: first }
      : { kind: "several", items: [first, ...others] };
  // A clock that was set back must not make anybody wait for hours.
  const forMs = Math.min(settleMs, sentAtMs + settleMs - nowMs);
  return forMs > 0 ? { kind: "wait", forMs } : { kind: "none" };
}

/**
 * Whether it was clearly triggered after the request can have arrived. A time that contradicts the id, because it lies before the call or in
 * the future, tells of a wrong clock and proves nothing: then the id counts alone.
 */
function isOfLater(
  { triggeredAtMs }: Item,
  { sentAtMs }: CreateIntent,
  { nowMs, settleMs = 120_000, clockSkewMs = 300_000 }: SearchOptions,
): boolean {
  if (triggeredAtMs === undefined) return false;
  return triggeredAtMs > sentAtMs + settleMs + clockSkewMs && triggeredAtMs <= nowMs + clockSkewMs;
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
