/**
 * Whether a restore can begin. No I/O.
 *
 * | its backup, and the instance                                     | then                                              |
 * |------------------------------------------------------------------|---------------------------------------------------|
 * | is not there, or not ready yet                                   | waits                                             |
 * | the backup failed or is gone at the manager                      | ends                                              |
 * | the restore names another instance, or another type              | refused                                           |
 * | the instance is another one, or of another version, by now       | refused                                           |
 */
import type { Backup, Restore, ServiceInstance } from "@klutch/api";
import { phaseOf } from "@klutch/backup-manager";
import { ExternalError } from "@klutch/crossplane";
import { backupCall, instanceIdOfBackup, onlyOne, readyInstance } from "../backup/state.ts";
import { recordedId } from "../records/made-once.ts";
import { checkType } from "../backup-manager/service-type.ts";
import { configNameOf, shownConfig } from "../provider-config/reference.ts";
import { shownName } from "../claims/names.ts";
import { serviceIdAnnotation } from "../records/annotations.ts";
import { notYet } from "../claims/waiting.ts";

/** What is put where. */
export interface RestoreTarget {
  readonly instanceId: string;
  readonly backupId: number;
}

/** What is known without asking anybody. */
export interface RestoreFacts {
  readonly restore: Restore;
  /** Those of the claim that the restore names. */
  readonly backups: readonly Backup[];
  /** Those of the claim that the backup names. */
  readonly instancesOf: (backup: Backup) => readonly ServiceInstance[];
}

/** Why a restore will never begin, for people. */
export type Unusable = string;

/** See the table above. Throws `NotYetError` and, for what is refused, `ExternalError`. */
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
  if (configNameOf(restore) === configNameOf(backup)) return;
  const has = shownConfig(backup);
  throw new ExternalError(
    `the restore names the ${shownConfig(restore)}, but its backup is at the ${has}; make it anew with the ${has}`,
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
