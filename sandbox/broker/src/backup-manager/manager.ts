/** The rules of the backup manager: which request is possible when. What is to be done is written down here and done by the worker. */
import { BrokerError } from "../errors.ts";
import type { Instance } from "../store.ts";
import type { Keys } from "./keys.ts";
import type { BackupRecord, RestoreRecord } from "./records.ts";
import type { BackupStore, LockedInstance } from "./store.ts";
import type { Retention, Worker } from "./worker.ts";

/** The shortest encryption key of an instance, in characters. */
export const minKeyLength = 16;

/** What can be changed for one instance. */
export interface SettingsChange {
  readonly encryptionKey?: string | undefined;
  readonly excludeFromAutoBackup?: boolean | undefined;
}

/** How an instance is backed up. */
export interface InstanceSettings {
  readonly retention: Retention;
  readonly minKeyLength: number;
  readonly excludeFromAutoBackup: boolean;
  readonly backupType: string;
}

/** What the manager works with. */
export interface ManagerParts {
  readonly instance: (id: string) => Promise<Instance | undefined>;
  readonly store: BackupStore;
  readonly worker: Worker;
  readonly keys: Keys;
  readonly retention: Retention;
}

/** Throws `BrokerError` for what may not be done now. */
export class BackupManager {
  readonly #parts: ManagerParts;

  constructor(parts: ManagerParts) {
    this.#parts = parts;
  }

  async instances(): Promise<readonly string[]> {
    return this.#parts.store.instanceIds();
  }

  async createBackup(instanceId: string): Promise<number> {
    await this.#requirePossible(await this.#instance(instanceId));
    const id = await this.#parts.store.addBackup(instanceId, (instance) => {
      requireReady(instanceId, instance);
      if (instance.restoring)
        throw new BrokerError(409, "ConcurrencyError", `instance ${instanceId} is being restored`);
    });
    this.#parts.worker.backUp(instanceId, id);
    return id;
  }

  async backups(instanceId: string): Promise<readonly BackupRecord[]> {
    await this.#instance(instanceId);
    return this.#parts.store.backupsOf(instanceId);
  }

  async backup(instanceId: string, id: number): Promise<BackupRecord> {
    await this.#instance(instanceId);
    const backup = await this.#parts.store.backup(id);
    requireOf(instanceId, id, backup);
    return backup;
  }

  /** Gives back what to say to people. Deleting again is no error. */
  async deleteBackup(instanceId: string, id: number): Promise<string> {
    const { state, deleting } = await this.backup(instanceId, id);
    if (state === "deleted") return `backup ${id} is deleted already`;
    if (!deleting)
      await this.#parts.store.beginDelete(id, (backup, restoresRunning) => {
        requireOf(instanceId, id, backup);
        requireIdle(backup, restoresRunning);
        return true;
      });
    try {
      await this.#parts.worker.deleteFile(id);
    } catch (error) {
      const reason = error instanceof Error && "code" in error ? String(error.code) : "see the log";
      throw new BrokerError(
        400,
        "BackupFileDeletionFailed",
        `the file of backup ${id} could not be deleted (${reason}); try again`,
      );
    }
    return `backup ${id} is deleted`;
  }

  async createRestore(instanceId: string, backupId: number): Promise<number> {
    await this.#requirePossible(await this.#instance(instanceId));
    const id = await this.#parts.store.addRestore(instanceId, backupId, (instance, backup) => {
      requireOf(instanceId, backupId, backup);
      requireRestorable(backup);
      if (instance?.restoring === true)
        throw new BrokerError(409, "ConcurrencyError", "A restore is already in progress.");
      requireReady(instanceId, instance);
    });
    this.#parts.worker.restore(instanceId, id);
    return id;
  }

  async restores(instanceId: string): Promise<readonly RestoreRecord[]> {
    await this.#instance(instanceId);
    return this.#parts.store.restoresOf(instanceId);
  }

  async restore(instanceId: string, id: number): Promise<RestoreRecord> {
    await this.#instance(instanceId);
    const restore = await this.#parts.store.restore(id);
    if (restore?.instanceId !== instanceId)
      throw new BrokerError(404, "NotFound", `instance ${instanceId} has no restore ${id}`);
    return restore;
  }

  async settings(instanceId: string): Promise<InstanceSettings> {
    const instance = await this.#instance(instanceId);
    const { excludeFromAutoBackup } = await this.#parts.store.settings(instanceId);
    const backupType = this.#parts.worker.dumpsOf(instance)?.backupType ?? "none";
    return { retention: this.#parts.retention, minKeyLength, excludeFromAutoBackup, backupType };
  }

  /** A key counts for the backups that are begun after it. */
  async change(instanceId: string, change: SettingsChange): Promise<void> {
    await this.#instance(instanceId);
    const { encryptionKey, excludeFromAutoBackup } = change;
    await this.#parts.store.change(instanceId, {
      ...(encryptionKey === undefined ? {} : { sealedKey: this.#parts.keys.seal(encryptionKey) }),
      ...(excludeFromAutoBackup === undefined ? {} : { excludeFromAutoBackup }),
    });
  }

  async #instance(id: string): Promise<Instance> {
    const instance = await this.#parts.instance(id);
    if (instance === undefined)
      throw new BrokerError(404, "InstanceNotFound", `instance ${id} does not exist`);
    return instance;
  }

  async #requirePossible(instance: Instance): Promise<void> {
    const dumps = this.#parts.worker.dumpsOf(instance);
    const obstacle =
      dumps === undefined
        ? `the service of instance ${instance.id} cannot be backed up`
        : await dumps.obstacle();
    if (obstacle !== undefined) throw new BrokerError(422, "NotPossible", obstacle);
  }
}

function requireReady(id: string, instance: LockedInstance | undefined): asserts instance is LockedInstance {
  if (instance === undefined) throw new BrokerError(404, "InstanceNotFound", `instance ${id} does not exist`);
  if (instance.state === "in progress")
    throw new BrokerError(
      422,
      "InvalidStatusError",
      `instance ${id} is not ready: ${instance.operation} is running`,
    );
  const isThere = instance.operation === "update" || instance.state === "succeeded";
  if (!isThere)
    throw new BrokerError(
      422,
      "InvalidStatusError",
      `instance ${id} is not ready: ${instance.operation} failed`,
    );
}

function requireOf(
  instanceId: string,
  id: number,
  backup: BackupRecord | undefined,
): asserts backup is BackupRecord {
  if (backup?.instanceId !== instanceId)
    throw new BrokerError(404, "NotFound", `instance ${instanceId} has no backup ${id}`);
}

function requireIdle({ id, state }: BackupRecord, restoresRunning: boolean): void {
  if (restoresRunning)
    throw new BrokerError(423, "Locked", `backup ${id} is being restored; try again when that has ended`);
  if (state === "queued" || state === "running")
    throw new BrokerError(423, "Locked", `backup ${id} is ${state}; try again when it has ended`);
}

function requireRestorable({ id, state, deleting }: BackupRecord): void {
  if (state === "deleted" || deleting) throw new BrokerError(410, "Gone", `backup ${id} is deleted`);
  if (state !== "done")
    throw new BrokerError(
      422,
      "InvalidStatusError",
      `Cannot restore from backup ${id}, since it is in state ${state}, not done.`,
    );
}
