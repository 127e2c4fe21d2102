/** Client of the a9s backup manager API; usable without the rest of Klutch. */
export type { BackupManagerCall, CallAbout } from "./call.ts";
export { callOf } from "./call-of.ts";
export {
  type BackupConfigChange,
  type BackupManagerClient,
  type CallOptions,
  createBackupManagerClient,
  type ObserveCall,
} from "./client.ts";
export type { BackupManagerConfig } from "./config.ts";
export {
  BackupManagerConfigError,
  BackupManagerError,
  BackupManagerTransportError,
  type BackupManagerTransportCode,
  type ErrorAnswer,
  isGone,
  isLocked,
  isNotRestorable,
  isRefusal,
  isRestoreRunning,
  mayHaveHappened,
} from "./errors.ts";
export {
  type CreateIntent,
  createIntent,
  findLostBackup,
  findLostRestore,
  type LostAnswer,
  type SearchOptions,
} from "./lost-answer.ts";
export { isFinal, type Phase, phaseOf } from "./phase.ts";
export type { BackupManagerErrorCode } from "./status.ts";
export type {
  Accepted,
  Backup,
  BackupRef,
  CreatedBackup,
  CreatedRestore,
  InstanceConfig,
  Restore,
  RestoreRef,
} from "./types.ts";
