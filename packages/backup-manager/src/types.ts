/** Defines the objects of the API of a9s backup managers as this client returns them: checked, with one meaning for each field. */

/** Names one backup. */
export interface BackupRef {
  /** The instance's id at the service broker. Not empty, not `.` or `..`, without `/` and `%`. */
  readonly instanceId: string;
  /** A whole number from 1 to 2^53 - 1, which the manager gave. */
  readonly backupId: number;
}

/** Names one restore. */
export interface RestoreRef {
  /** The instance's id at the service broker. Not empty, not `.` or `..`, without `/` and `%`. */
  readonly instanceId: string;
  /** A whole number from 1 to 2^53 - 1, which the manager gave. */
  readonly restoreId: number;
}

/** A backup as the manager reports it. Missing and malformed values are absent. */
export interface Backup {
  /** A whole number from 1 to 2^53 - 1. */
  readonly id: number;
  /** `queued`, `running`, `done`, `failed`, `deleted`, or a word that is newer than this client; `phaseOf` gives its meaning. */
  readonly state: string;
  /** Size in bytes. */
  readonly size?: number | undefined;
  /** True if the manager told a size that is no whole number from 0 to 2^53 - 1. Absent if it told a right one, or none. */
  readonly sizeIsMalformed?: true | undefined;
  /** Time of the request, by the manager's clock, in milliseconds since 1970 (UTC). */
  readonly triggeredAtMs?: number | undefined;
  /** Time of its end, successful or not, by the manager's clock, in milliseconds since 1970 (UTC). */
  readonly finishedAtMs?: number | undefined;
  /** True if the manager offers its file for download. False if it does not say. */
  readonly downloadable: boolean;
}

/** A restore as the manager reports it. Missing and malformed values are absent. */
export interface Restore {
  /** A whole number from 1 to 2^53 - 1; restores are counted apart from backups. */
  readonly id: number;
  /** Id of the backup; a whole number from 1 to 2^53 - 1. */
  readonly backupId?: number | undefined;
  /** The same words as of a backup; `phaseOf` gives their meaning. */
  readonly state: string;
  /** Time of the request, by the manager's clock, in milliseconds since 1970 (UTC). */
  readonly triggeredAtMs?: number | undefined;
  /** Time of its end, successful or not, by the manager's clock, in milliseconds since 1970 (UTC). */
  readonly finishedAtMs?: number | undefined;
}

/** A backup that was just asked for. */
export interface CreatedBackup {
  /** A whole number from 1 to 2^53 - 1. */
  readonly backupId: number;
  /** Message of the manager, on one line of at most 300 characters; may be empty. */
  readonly message: string;
}

/** A restore that was just asked for. */
export interface CreatedRestore {
  /** A whole number from 1 to 2^53 - 1. */
  readonly restoreId: number;
}

/** The answer to a change. */
export interface Accepted {
  /** Message of the manager, on one line of at most 300 characters; may be empty. */
  readonly message: string;
}

/** Backup configuration of one instance. Missing values are absent. */
export interface InstanceConfig {
  /** Number of backups that are kept, however old they are. */
  readonly minBackupCount?: number | undefined;
  /** Number of days for which a backup is kept. */
  readonly retentionDays?: number | undefined;
  /** The shortest encryption key that the manager takes, in characters. */
  readonly minEncryptionKeyLength?: number | undefined;
  /** True if automatic backups are disabled. */
  readonly excludeFromAutoBackup?: boolean | undefined;
  /** Kind of backups, such as `postgresql_wal`; one line of at most 100 characters. */
  readonly backupType?: string | undefined;
}
