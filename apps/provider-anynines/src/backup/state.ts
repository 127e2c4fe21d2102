/** What is known of one backup during a reconcile: from the managed resource, and from the backup manager. */
import type { Backup, BackupObservation } from "@klutch/api";
import type { Backup as FoundBackup } from "@klutch/backup-manager";
import type { Observation } from "@klutch/crossplane";
import { OnceCall, type OnceOptions } from "../backup-manager/once.ts";
import type { CallSource } from "../backup-manager/record.ts";
import { timeText } from "../backup-manager/time-text.ts";
import { backupIdAnnotation, CriticalAnnotations, instanceIdAnnotation } from "../critical-annotations.ts";

/** What of a Backup tells of the call that makes it. */
export function backupCall(managed: Backup): CallSource {
  return { managed, idAnnotation: backupIdAnnotation, statusId: managed.status?.atProvider?.id };
}

/** The instance's id at its broker when the backup was asked for; undefined before. */
export function instanceIdOfBackup({ metadata, status }: Backup): string | undefined {
  return metadata.annotations?.[instanceIdAnnotation] ?? status?.atProvider?.instanceId;
}

/** What the state is read from and written through. */
export interface BackupStateOptions extends Omit<OnceOptions, keyof CallSource | "annotations"> {
  readonly managed: Backup;
  readonly updateCriticalAnnotations: ConstructorParameters<typeof CriticalAnnotations>[1];
}

/** Lives for one reconcile. */
export class BackupState {
  readonly managed: Backup;
  readonly call: OnceCall;
  #atProvider: BackupObservation;

  constructor({ managed, updateCriticalAnnotations, ...options }: BackupStateOptions) {
    const annotations = new CriticalAnnotations(managed, updateCriticalAnnotations);
    this.managed = managed;
    this.call = new OnceCall({ ...options, ...backupCall(managed), annotations });
    this.#atProvider = managed.status?.atProvider ?? {};
  }

  get isDeleting(): boolean {
    return this.managed.metadata.deletionTimestamp !== undefined;
  }

  /** Number in the status that is not the recorded one: the existing provider showed the first of several for ever. */
  otherId(id: number): number | undefined {
    const { id: shown } = this.#atProvider;
    return shown === id ? undefined : shown;
  }

  /** As the manager has it; what was known of another backup goes. */
  show(instanceId: string, found: Partial<FoundBackup> & Pick<FoundBackup, "id" | "state">): void {
    const { id, state: status, size, triggeredAtMs, finishedAtMs, downloadable } = found;
    this.#atProvider = {
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
  showDeleted(instanceId: string, id: number): void {
    this.#atProvider = { ...this.#atProvider, instanceId, id, status: "deleted", downloadable: false };
  }

  observation(finding: Omit<Observation, "upToDate" | "status">): Observation {
    return { upToDate: true, ...finding, status: { atProvider: this.#atProvider } };
  }
}
