/** Reads the state of one restore from the managed resource and the backup manager, and whether it can begin. No I/O. */
import type { Backup, Restore, RestoreObservation, ServiceInstance } from "@klutch/api";
import { phaseOf, type Restore as FoundRestore } from "@klutch/backup-manager";
import { ExternalError } from "@klutch/crossplane";
import { isRecord } from "@klutch/kube-core";
import { timeText } from "../backup-manager/errors.ts";
import { backupCall, checkType, instanceIdOfBackup, onlyOne, readyInstance } from "../backup/state.ts";
import { shownName } from "../claims/names.ts";
import { notYet } from "../claims/waiting.ts";
import { configNameOf, shownConfig } from "../provider-config/reference.ts";
import { checkFollows } from "../provider-config/region.ts";
import {
  type AnnotationChanges,
  instanceIdAnnotation,
  restoreEndAnnotation,
  restoreIdAnnotation,
  serviceIdAnnotation,
} from "../records/annotations.ts";
import { type CallSource, recordedCall, recordedId } from "../records/made-once.ts";
import { operationAnnotation } from "../records/operation.ts";
import { parsedJson, textOf } from "../records/values.ts";

/** The end of a restore. It never begins again. */
export interface RestoreEnd {
  /** As the manager said it last; undefined when it was never begun. */
  readonly state?: string | undefined;
  /** Reason of the Ready condition, when it is not the usual one. */
  readonly reason?: string | undefined;
  readonly message: string;
}

/** Returns the record of the call that makes a Restore. */
export function restoreCall(managed: Restore): CallSource {
  return { managed, idAnnotation: restoreIdAnnotation, statusId: managed.status?.atProvider?.restoreId };
}

/** The instance's id at its broker, once the restore was asked for. */
export function instanceIdOfRestore({ metadata, status }: Restore): string | undefined {
  return metadata.annotations?.[instanceIdAnnotation] ?? status?.atProvider?.instanceId;
}

/** Reports whether it may be changing its instance now: it was requested, and its end is unknown. */
export function isRunning(restore: Restore): boolean {
  return recordedCall(restoreCall(restore)).kind !== "nothing" && recordedEnd(restore) === undefined;
}

/** Undefined while there is no end. An end that cannot be read is one, too. */
export function recordedEnd({ metadata, status }: Restore): RestoreEnd | undefined {
  const text = metadata.annotations?.[restoreEndAnnotation];
  if (text !== undefined) return endOf(text);
  // The existing provider recorded no end; what its status said is true for ever.
  const { state } = status?.atProvider ?? {};
  if (state === "failed") return { state, reason: "Failed", message: "Restore has failed" };
  return state === "done" ? { state, message: "Restore completed successfully" } : undefined;
}

function endOf(text: string): RestoreEnd {
  const value = parsedJson(text);
  if (!isRecord(value)) return { message: `the annotation ${restoreEndAnnotation} cannot be read` };
  const { state, reason, message = "" } = value;
  return { state: textOf(state), reason: textOf(reason), message: textOf(message) ?? "" };
}

/** Returns the annotations that end it for ever. */
export function endChange(end: RestoreEnd): AnnotationChanges {
  return { [restoreEndAnnotation]: JSON.stringify(end), [operationAnnotation]: undefined };
}

/** As the manager has it. */
export function shownRestore(
  known: RestoreObservation,
  instanceId: string,
  { id, backupId, state, triggeredAtMs, finishedAtMs }: FoundRestore,
): RestoreObservation {
  return {
    instanceId,
    backupId: backupId ?? known.backupId,
    restoreId: id,
    state,
    triggeredAt: timeText(triggeredAtMs),
    finishedAt: timeText(finishedAtMs),
  };
}

/** The backup, and the instance that it goes into. */
export interface RestoreTarget {
  readonly instanceId: string;
  readonly backupId: number;
}

/** Everything that is known without a call. */
export interface RestoreFacts {
  readonly restore: Restore;
  /** Backups of the claim that the restore names. */
  readonly backups: readonly Backup[];
  /** Returns the instances of the claim that the backup names. */
  readonly instancesOf: (backup: Backup) => readonly ServiceInstance[];
}

/** The reason why a restore will never begin, for people. */
export type Unusable = string;

/** Returns what to restore, or why it never can be. Throws `NotYetError` while something is missing, `ExternalError` for a refusal. */
export function restoreTarget({ restore, backups, instancesOf }: RestoreFacts): RestoreTarget | Unusable {
  const { backupName, instanceName } = restore.spec.forProvider;
  const backup = onlyOne(restore, "backup", backupName, backups);
  const { instanceName: backedUp } = backup.spec.forProvider;
  if (instanceName !== undefined && instanceName !== backedUp) {
    throw new ExternalError(
      `instanceRef is ${instanceName}, but the backup ${backupName} is of the instance ${backedUp}; a backup goes back into its own instance only`,
      { reason: "Refused" },
    );
  }
  checkManager(restore, backup);
  const unusable = unusableFor(backup);
  if (unusable !== undefined) return unusable;
  const backupId = readyBackup(backup);
  const instance = onlyOne(backup, "instance", backedUp, instancesOf(backup));
  const { instanceId, serviceId } = readyInstance(instance, "the restore");
  checkSame(backup, backedUp, { instanceId, serviceId });
  return { instanceId, backupId };
}

function checkManager(restore: Restore, backup: Backup): void {
  checkType(restore, backup, `the restore ${shownName(restore)}`);
  checkFollows(restore, backup, "Backup");
  if (configNameOf(restore) === configNameOf(backup)) return;
  const has = shownConfig(backup);
  throw new ExternalError(
    `the restore names the ${shownConfig(restore)}, but its backup is at the ${has}; create it again with the ${has}`,
    { reason: "Refused" },
  );
}

function unusableFor(backup: Backup): Unusable | undefined {
  const phase = phaseOf(backup.status?.atProvider?.status ?? "");
  if (phase !== "Failed" && phase !== "Deleted") return undefined;
  const what = phase === "Failed" ? "has failed" : "is gone at the backup manager";
  return `the backup ${shownName(backup)} ${what}, so nothing can be restored from it; make another Restore of another Backup`;
}

function readyBackup(backup: Backup): number {
  const name = shownName(backup);
  const { status = "not made yet" } = backup.status?.atProvider ?? {};
  const backupId = recordedId(backupCall(backup));
  if (backup.metadata.deletionTimestamp !== undefined)
    throw notYet(`the backup ${name} is being deleted`, "Backup");
  if (backupId === undefined || phaseOf(status) !== "Succeeded")
    throw notYet(
      `the backup ${name} is not ready: it is ${status}; the restore begins when it is done`,
      "Backup",
    );
  return backupId;
}

/** The instance of that name may be another one than the one that was backed up. */
function checkSame(
  backup: Backup,
  name: string,
  now: { readonly instanceId: string; readonly serviceId: string },
): void {
  const what = `the backup ${shownName(backup)} was made of`;
  const instanceId = instanceIdOfBackup(backup);
  if (instanceId !== now.instanceId) {
    throw new ExternalError(
      `${what} the instance ${instanceId ?? "without id"} at its broker, but ${name} is ${now.instanceId} now; a backup goes back into its own instance only`,
      { reason: "Refused" },
    );
  }
  const serviceId = backup.metadata.annotations?.[serviceIdAnnotation];
  if (serviceId !== undefined && serviceId !== now.serviceId) {
    throw new ExternalError(
      `${what} the service ${serviceId}, but the instance ${name} is of ${now.serviceId} now; a backup goes back into the same version only`,
      { reason: "Refused" },
    );
  }
}
