/**
 * Counts how long a backup is kept at its backup manager, and how large it is. The count lives in the same annotation as that of instances, on the
 * Backup.
 *
 * | event                                         | the annotation then                                                             |
 * |-----------------------------------------------|---------------------------------------------------------------------------------|
 * | the manager says that the backup is done      | has the plan of the instance, the end of the backup as `from`, and the size     |
 * | it tells a size after it told none            | has the size, which counts from the beginning                                   |
 * | it tells another size, or none that can be    | has a `fault`; the first size counts                                            |
 * | it does not have the backup any more          | has `until`                                                                     |
 * | it has the backup again                       | has no `until`: a backup that is found again counts all the time                |
 *
 * The manager's clock decides only between the creation of the Backup and now, by the clock of the provider. So the time in which the provider was
 * away counts too.
 */
import { isRecord, recordAt, textAt, wholeSeconds } from "@klutch/kube-core";
import type { Backup } from "./kinds/backup.ts";
import { monthAt, monthsOf, timeOf, usageAnnotation, type UsedPlan, usedPlanAt } from "./usage.ts";

/** Largest size of one backup that is taken: 1 PiB. */
export const mostBackupBytes: number = 2 ** 50;

/** Says that a told size is none. Its value is not repeated: it may be anything. */
export const noBackupSize = "the size is not a whole number of bytes between 0 and 2^50";

/** The usage of one backup. */
export interface BackupUsage extends UsedPlan {
  /** RFC 3339. */
  readonly from: string;
  /** RFC 3339; undefined while the backup is kept. */
  readonly until?: string | undefined;
  /** Size in bytes; undefined: unknown. */
  readonly bytes?: number | undefined;
  /** Says why what the manager tells now is no size, or not that of before. */
  readonly fault?: string | undefined;
}

/** Backups of one plan in a month. */
export interface KeptBackups {
  /** Backups that were done in the month. */
  readonly made: number;
  /** Seconds that backups were kept, together. */
  readonly seconds: number;
  /** The part of `seconds` of backups whose size is unknown. */
  readonly unsizedSeconds: number;
  /** Bytes times seconds of the others. */
  readonly byteSeconds: bigint;
}

/** The usage of one backup in a month. */
export interface KeptRow extends UsedPlan {
  /** `YYYY-MM`, in UTC. */
  readonly month: string;
  readonly backups: KeptBackups;
}

/** Facts of a backup that its manager has. */
export interface SeenBackup {
  /** Finds the plan of its instance, which is asked for once: a known usage has it. */
  readonly plan: () => UsedPlan;
  /** `metadata.creationTimestamp` of the Backup. */
  readonly createdAt: string | undefined;
  /** Its end by the manager's clock, in milliseconds since the epoch. */
  readonly finishedAtMs: number | undefined;
  /** Bytes; undefined if the manager tells no size, or none that can be. */
  readonly size: number | undefined;
  /** True if the manager tells a size that none can be. */
  readonly sizeIsMalformed: boolean;
}

/** Returns the record; undefined before the backup was done, and if the annotation was damaged. */
export function backupUsageOf({ metadata }: Pick<Backup, "metadata">): BackupUsage | undefined {
  return parsedBackupUsage(metadata.annotations?.[usageAnnotation]);
}

/** Reads the annotation's text; undefined if it was damaged. */
export function parsedBackupUsage(text: string | undefined): BackupUsage | undefined {
  const value = parsed(text);
  const plan = usedPlanAt(value);
  const from = timeOf(textAt(value, "from") ?? "");
  const end = recordAt(value)["until"];
  const until = typeof end === "string" ? timeOf(end) : undefined;
  const bytes: unknown = recordAt(value)["bytes"];
  if (plan === undefined || from === undefined || (end !== undefined && until === undefined))
    return undefined;
  if (bytes !== undefined && !isBackupSize(bytes)) return undefined;
  const fault = textAt(value, "fault");
  return usageWith({ ...plan, from }, { until, bytes, fault });
}

/** Returns whether the value is a size in bytes that a backup can have. */
export function isBackupSize(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= mostBackupBytes;
}

/** The manager has the backup. */
export function backupKept(known: BackupUsage | undefined, seen: SeenBackup, now: number): BackupUsage {
  const { plan, createdAt = "", finishedAtMs = now } = seen;
  const size = isBackupSize(seen.size) ? seen.size : undefined;
  const isNone = seen.sizeIsMalformed || seen.size !== size;
  const bytes = known?.bytes ?? size;
  const isOther = size !== undefined && bytes !== size;
  const fault = isOther
    ? `the backup manager tells another size than the ${bytes} bytes that it told first, which count`
    : isNone
      ? noBackupSize
      : undefined;
  const earliest = Math.min(Date.parse(createdAt) || now, now);
  const from = known?.from ?? wholeSeconds(Math.max(earliest, Math.min(finishedAtMs, now)));
  const { service, plan: name, config } = known ?? plan();
  return usageWith({ service, plan: name, config, from }, { bytes, fault });
}

/** The manager does not have the backup any more, since `end` at the latest. */
export function backupEnded(known: BackupUsage, end: number): BackupUsage {
  return known.until === undefined ? { ...known, until: wholeSeconds(end) } : known;
}

/** Returns the annotation's text. */
export function backupUsageText(usage: BackupUsage): string {
  return JSON.stringify(usage);
}

/** Returns the months in which the backup was kept, until `end` if it still is. A clock that was set back makes the time 0 s long, never less. */
export function keptRowsUntil(usage: BackupUsage, end: number): readonly KeptRow[] {
  const { service, plan, config, bytes, from, until } = usage;
  const to = until === undefined ? end : Math.min(end, Date.parse(until));
  const months = monthsOf(Date.parse(from), to);
  // A backup that is gone at once was made as well.
  const pieces = months.length > 0 ? months : [{ month: monthAt(Date.parse(from)), seconds: 0 }];
  return pieces.map(({ month, seconds }, index) => ({
    service,
    plan,
    config,
    month,
    backups: {
      made: index === 0 ? 1 : 0,
      seconds,
      unsizedSeconds: bytes === undefined ? seconds : 0,
      byteSeconds: bytes === undefined ? 0n : BigInt(bytes) * BigInt(seconds),
    },
  }));
}

/** Returns whether no size of the backups is known. Then they have no byte-seconds, and not 0 as if they were measured. */
export function isUnsized({ seconds, unsizedSeconds }: KeptBackups): boolean {
  return unsizedSeconds > 0 && unsizedSeconds === seconds;
}

/** Adds two sums up. */
export function addedBackups(one: KeptBackups | undefined, other: KeptBackups): KeptBackups {
  if (one === undefined) return other;
  return {
    made: one.made + other.made,
    seconds: one.seconds + other.seconds,
    unsizedSeconds: one.unsizedSeconds + other.unsizedSeconds,
    byteSeconds: one.byteSeconds + other.byteSeconds,
  };
}

function usageWith(
  usage: UsedPlan & { readonly from: string },
  { until, bytes, fault }: Pick<BackupUsage, "until" | "bytes" | "fault">,
): BackupUsage {
  return {
    ...usage,
    ...(until !== undefined && { until }),
    ...(bytes !== undefined && { bytes }),
    ...(fault !== undefined && { fault }),
  };
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
