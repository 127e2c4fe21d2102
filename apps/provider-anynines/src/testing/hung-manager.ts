/** A backup manager that takes every call and never answers, which a real one does not do on demand. */
import type { BackupManagerCall, BackupManagerClient, CallOptions } from "@klutch/backup-manager";

/** It counts what it is asked. */
export interface HungManager extends BackupManagerClient {
  readonly asked: readonly BackupManagerCall[];
}

/** Its calls end with their signals only. */
export function hungManager(): HungManager {
  const asked: BackupManagerCall[] = [];
  const hang = (call: BackupManagerCall, { signal }: CallOptions = {}): Promise<never> => {
    asked.push(call);
    return new Promise((_, reject) => {
      signal?.addEventListener("abort", () =>
        reject(new Error("the call was ended", { cause: signal.reason })),
      );
    });
  };
  return {
    asked,
    createBackup: (_instanceId, options) => hang("createBackup", options),
    listBackups: (_instanceId, options) => hang("listBackups", options),
    getBackup: (_ref, options) => hang("getBackup", options),
    deleteBackup: (_ref, options) => hang("deleteBackup", options),
    createRestore: (_ref, options) => hang("createRestore", options),
    listRestores: (_instanceId, options) => hang("listRestores", options),
    getRestore: (_ref, options) => hang("getRestore", options),
    getInstanceConfig: (_instanceId, options) => hang("getInstanceConfig", options),
    updateBackupConfig: (_instanceId, _change, options) => hang("updateBackupConfig", options),
    checkHealth: (_endpoint, options) => hang("checkHealth", options),
    [Symbol.asyncDispose]: async () => undefined,
  };
}
