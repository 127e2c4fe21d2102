import { createBackupManagerClient, isGone, phaseOf } from "@klutch/backup-manager";
import type { Secret } from "@klutch/telemetry";

/** Backs up an instance, looks how far it got, and deletes the backup again. */
export async function backUp(url: string, password: Secret<string>, instanceId: string): Promise<string> {
  await using manager = createBackupManagerClient({ url, credentials: { username: "klutch", password } });
  const signal = AbortSignal.timeout(600_000);
  const { backupId } = await manager.createBackup(instanceId, { signal });
  const { state, size = 0 } = await manager.getBackup({ instanceId, backupId }, { signal });
  try {
    await manager.deleteBackup({ instanceId, backupId }, { signal });
  } catch (error) {
    // It is not there: what was wanted.
    if (!isGone(error)) throw error;
  }
  return `backup ${backupId}: ${phaseOf(state)}, ${size} bytes`;
}
