/** What is known of one restore, from the managed resource and from the backup manager. No I/O. */
import type { Restore, RestoreObservation } from "@klutch/api";
import type { Restore as FoundRestore } from "@klutch/backup-manager";
import { isRecord } from "@klutch/kube-core";
import { timeText } from "../backup-manager/errors.ts";
import { type CallSource, recordedCall } from "../records/made-once.ts";
import {
  type AnnotationChanges,
  instanceIdAnnotation,
  restoreEndAnnotation,
  restoreIdAnnotation,
} from "../records/annotations.ts";
import { operationAnnotation } from "../records/operation.ts";

/** How a restore ended. It never begins again. */
export interface RestoreEnd {
  /** As the manager said it last; undefined when it was never begun. */
  readonly state?: string | undefined;
  /** Of the Ready condition, when it is not the usual one. */
  readonly reason?: string | undefined;
  readonly message: string;
}

/** What of a Restore tells of the call that makes it. */
export function restoreCall(managed: Restore): CallSource {
  return { managed, idAnnotation: restoreIdAnnotation, statusId: managed.status?.atProvider?.restoreId };
}

/** The instance's id at its broker, once the restore was asked for. */
export function instanceIdOfRestore({ metadata, status }: Restore): string | undefined {
  return metadata.annotations?.[instanceIdAnnotation] ?? status?.atProvider?.instanceId;
}

/** Whether it may be changing its instance now: it was asked for, and no end is known. */
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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isRecord(value)) return { message: `the annotation ${restoreEndAnnotation} cannot be read` };
  const { state, reason, message } = value;
  return {
    ...(typeof state === "string" ? { state } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
    message: typeof message === "string" ? message : "",
  };
}

/** What is written to end it for ever. */
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
