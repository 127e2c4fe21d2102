/** What the API of a9s backup managers speaks of, as this client gives it: checked, with one meaning for each field. */

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

/** A backup as the manager tells of it. What the manager left out, or said in a form that has no meaning, is not there. */
export interface Backup {
  /** A whole number from 1 to 2^53 - 1. */
  readonly id: number;
  /** `queued`, `running`, `done`, `failed`, `deleted`, or a word that is newer than this client; `phaseOf` gives its meaning. */
  readonly state: string;
  /** In bytes. */
  readonly size?: number | undefined;
  /** When it was asked for, by the manager's clock, in milliseconds since 1970 (UTC). */
  readonly triggeredAtMs?: number | undefined;
  /** When it ended, well or not, by the manager's clock, in milliseconds since 1970 (UTC). */
  readonly finishedAtMs?: number | undefined;
  /** Whether the manager offers its file for download. False when the manager does not say. */
  readonly downloadable: boolean;
}

/** A restore as the manager tells of it. What the manager left out, or said in a form that has no meaning, is not there. */
export interface Restore {
  /** A whole number from 1 to 2^53 - 1; restores are counted apart from backups. */
  readonly id: number;
  /** Of which backup; a whole number from 1 to 2^53 - 1. */
  readonly backupId?: number | undefined;
  /** The same words as of a backup; `phaseOf` gives their meaning. */
  readonly state: string;
  /** When it was asked for, by the manager's clock, in milliseconds since 1970 (UTC). */
  readonly triggeredAtMs?: number | undefined;
  /** When it ended, well or not, by the manager's clock, in milliseconds since 1970 (UTC). */
  readonly finishedAtMs?: number | undefined;
}

/** A backup that was just asked for. */
export interface CreatedBackup {
  /** A whole number from 1 to 2^53 - 1. */
  readonly backupId: number;
  /** What the manager says to people, on one line of at most 300 characters; empty when it says nothing. */
  readonly message: string;
}

/** A restore that was just asked for. */
export interface CreatedRestore {
  /** A whole number from 1 to 2^53 - 1. */
  readonly restoreId: number;
}

/** The answer to a change. */
export interface Accepted {
  /** What the manager says to people, on one line of at most 300 characters; empty when it says nothing. */
  readonly message: string;
}

/** How the manager backs up one instance. What it left out is not there. */
export interface InstanceConfig {
  /** So many backups are kept, however old they are. */
  readonly minBackupCount?: number | undefined;
  /** So many days a backup is kept. */
  readonly retentionDays?: number | undefined;
  /** The shortest encryption key that the manager takes, in characters. */
  readonly minEncryptionKeyLength?: number | undefined;
  /** Whether the manager makes no backups of it by itself. */
  readonly excludeFromAutoBackup?: boolean | undefined;
  /** How backups are made, such as `postgresql_wal`; one line of at most 100 characters. */
  readonly backupType?: string | undefined;
}
