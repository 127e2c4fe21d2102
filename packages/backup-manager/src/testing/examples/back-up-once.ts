import {
  type BackupManagerClient,
  createIntent,
  findLostBackup,
  mayHaveHappened,
} from "@klutch/backup-manager";
import type { CreateIntent, LostAnswer, Backup } from "@klutch/backup-manager";

/** Storage that survives a crash. */
export interface Notes {
  remember(intent: CreateIntent): Promise<void>;
  keep(backupId: number): Promise<void>;
  forget(): Promise<void>;
}

/** Asks for a backup. After an error the intent is still noted if the backup may have been made. */
export async function backUpOnce(
  manager: BackupManagerClient,
  instanceId: string,
  notes: Notes,
  now: () => number,
): Promise<void> {
  const intent = createIntent(await manager.listBackups(instanceId), now());
  await notes.remember(intent);
  try {
    await notes.keep((await manager.createBackup(instanceId)).backupId);
  } catch (error) {
    if (!mayHaveHappened(error)) await notes.forget();
    throw error;
  }
}

/** Later, as long as the intent is noted. `claimed` has the ids that belong to other resources. */
export async function lookForIt(
  manager: BackupManagerClient,
  instanceId: string,
  intent: CreateIntent,
  claimed: ReadonlySet<number>,
  now: () => number,
): Promise<LostAnswer<Backup>> {
  return findLostBackup(await manager.listBackups(instanceId), intent, { nowMs: now(), claimed });
}
