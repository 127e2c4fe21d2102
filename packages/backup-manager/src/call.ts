/** The ten calls, by name, and what one of them is about. */

/** A call of the API, for errors and for counting. */
export type BackupManagerCall =
  | "createBackup"
  | "listBackups"
  | "getBackup"
  | "deleteBackup"
  | "createRestore"
  | "listRestores"
  | "getRestore"
  | "getInstanceConfig"
  | "updateBackupConfig"
  | "checkHealth";

/** One call, as its errors name it. */
export interface CallAbout {
  readonly call: BackupManagerCall;
  /** Such as `backup 7 of instance "x"`. */
  readonly subject: string;
}
