/** Decides which requests to the backup manager are possible now. It writes down what is to happen; the worker does it. */
import { Turns } from "@klutch/data-servers";
import type { Driver } from "../drivers/driver.ts";
import { BrokerError } from "../errors.ts";
import type { Instance, Store } from "../store.ts";
import type { BackupRecord, RestoreRecord } from "./records.ts";
import type { BackupStore } from "./store.ts";
import type { Retention, Worker } from "./worker.ts";

/** Objects that the manager uses. */
export interface ManagerParts {
  readonly instances: Store;
  readonly store: BackupStore;
  readonly worker: Worker;
  readonly driverOf: (instance: Instance) => Driver | undefined;
  readonly retention: Retention;
}

/** How an instance is backed up. */
export interface InstanceSettings {
  readonly retention: Retention;
  readonly excludeFromAutoBackup: boolean;
  readonly backupType: string;
}

/** Throws `BrokerError` for requests that are not possible now. */
export class BackupManager {
  readonly #parts: ManagerParts;
  /** Restores and deletions of one instance are decided one after the other. */
  readonly #turns = new Turns();

  constructor(parts: ManagerParts) {
    this.#parts = parts;
  }

  instances(): Promise<readonly string[]> {
    return this.#parts.instances.instanceIds();
  }

  async createBackup(instanceId: string): Promise<number> {
    const instance = await this.#possible(instanceId);
    if (instance.restoring)
      throw new BrokerError(409, "ConcurrencyError", `instance ${instanceId} is being restored`);
    requireReady(instance);
    const id = await this.#parts.store.addBackup(instanceId);
    if (id === undefined) throw busy(instanceId);
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
    if (backup?.instanceId === instanceId) return backup;
    throw new BrokerError(404, "NotFound", `instance ${instanceId} has no backup ${id}`);
  }

  /** Returns a message for people. Deleting again is no error. */
  deleteBackup(instanceId: string, id: number): Promise<string> {
    return this.#turns.take(instanceId, async () => {
      const { state, deleting } = await this.backup(instanceId, id);
      if (state === "deleted") return `backup ${id} is deleted already`;
      if (!deleting && !(await this.#parts.store.beginDelete(id))) {
        const reason = state === "queued" || state === "running" ? state : "being restored";
        throw new BrokerError(423, "Locked", `backup ${id} is ${reason}; try again when that has ended`);
      }
      await this.#deleteFile(id);
      return `backup ${id} is deleted`;
    });
  }

  createRestore(instanceId: string, backupId: number): Promise<number> {
    return this.#turns.take(instanceId, async () => {
      const instance = await this.#possible(instanceId);
      requireRestorable(await this.backup(instanceId, backupId));
      if (instance.restoring)
        throw new BrokerError(409, "ConcurrencyError", "A restore is already in progress.");
      requireReady(instance);
      const id = await this.#parts.store.addRestore(instanceId, backupId);
      if (id === undefined) throw busy(instanceId);
      this.#parts.worker.restore(instanceId, id);
      return id;
    });
  }

  async restores(instanceId: string): Promise<readonly RestoreRecord[]> {
    await this.#instance(instanceId);
    return this.#parts.store.restoresOf(instanceId);
  }

  async restore(instanceId: string, id: number): Promise<RestoreRecord> {
    await this.#instance(instanceId);
    const restore = await this.#parts.store.restore(id);
    if (restore?.instanceId === instanceId) return restore;
    throw new BrokerError(404, "NotFound", `instance ${instanceId} has no restore ${id}`);
  }

  async settings(instanceId: string): Promise<InstanceSettings> {
    const { store, driverOf, retention } = this.#parts;
    const instance = await this.#instance(instanceId);
    const excludeFromAutoBackup = await store.isExcluded(instanceId);
    return { retention, excludeFromAutoBackup, backupType: driverOf(instance)?.backupType ?? "none" };
  }

  async exclude(instanceId: string, isExcluded: boolean | undefined): Promise<void> {
    await this.#instance(instanceId);
    if (isExcluded !== undefined) await this.#parts.store.exclude(instanceId, isExcluded);
  }

  async #deleteFile(id: number): Promise<void> {
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
  }

  async #instance(id: string): Promise<Instance> {
    const instance = await this.#parts.instances.instance(id);
    if (instance !== undefined) return instance;
    throw new BrokerError(404, "InstanceNotFound", `instance ${id} does not exist`);
  }

  async #possible(instanceId: string): Promise<Instance> {
    const instance = await this.#instance(instanceId);
    const driver = this.#parts.driverOf(instance);
    const obstacle =
      driver === undefined
        ? `the service of instance ${instanceId} cannot be backed up; its servers are not on this machine any more`
        : driver.obstacle();
    if (obstacle !== undefined) throw new BrokerError(422, "NotPossible", obstacle);
    return instance;
  }
}

function requireReady({ id, operation, state }: Instance): void {
  if (state !== "in progress" && (operation === "update" || state === "succeeded")) return;
  const words = state === "in progress" ? "is running" : "failed";
  throw new BrokerError(422, "InvalidStatusError", `instance ${id} is not ready: ${operation} ${words}`);
}

function requireRestorable({ id, state, deleting }: BackupRecord): void {
  if (state === "deleted" || deleting) throw new BrokerError(410, "Gone", `backup ${id} is deleted`);
  if (state === "done") return;
  const message = `Cannot restore from backup ${id}, since it is in state ${state}, not done.`;
  throw new BrokerError(422, "InvalidStatusError", message);
}

/** The instance changed between the look at it and the statement. */
function busy(id: string): BrokerError {
  return new BrokerError(409, "ConcurrencyError", `another operation on instance ${id} is in progress`);
}
