/** What is known of one backup, from the managed resource and from the backup manager. No I/O. */
import type { Backup, BackupObservation } from "@klutch/api";
import type { Backup as FoundBackup } from "@klutch/backup-manager";
import type { CallSource } from "../records/made-once.ts";
import { timeText } from "../backup-manager/time-text.ts";
import { backupIdAnnotation, instanceIdAnnotation } from "../records/annotations.ts";

/** What of a Backup tells of the call that makes it. */
export function backupCall(managed: Backup): CallSource {
  return { managed, idAnnotation: backupIdAnnotation, statusId: managed.status?.atProvider?.id };
}

/** The instance's id at its broker when the backup was asked for; undefined before. */
export function instanceIdOfBackup({ metadata, status }: Backup): string | undefined {
  return metadata.annotations?.[instanceIdAnnotation] ?? status?.atProvider?.instanceId;
}

/** As the manager has it; what was known of another backup goes. */
export function shownBackup(instanceId: string, found: FoundBackup): BackupObservation {
  const { id, state: status, size, triggeredAtMs, finishedAtMs, downloadable } = found;
  return {
    instanceId,
    id,
    size,
    status,
    triggered_at: timeText(triggeredAtMs),
    finished_at: timeText(finishedAtMs),
    downloadable,
  };
}

/** The manager has only the record of it, or nothing. */
export function shownDeleted(known: BackupObservation, instanceId: string, id: number): BackupObservation {
  return { ...known, instanceId, id, status: "deleted", downloadable: false };
}
