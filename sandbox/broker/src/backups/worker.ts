/**
 * Makes the backups and restores that the store lists. The process may be killed between any two lines: the store knows what is to happen
 * before it happens, a file counts only after its record says so, and each piece of work can be begun again.
 *
 * | killed after | left | next start |
 * |---|---|---|
 * | the request was written down | `queued` | begins |
 * | a part of the file, or all of it | `running`, a file | begins again, writes the file again |
 * | the record says `done` | a backup | – |
 * | a part of a restore | `running`, half the new data | removes them, begins again |
 * | the exchange of the data | `running`, the new data | finds that it is done, writes it down |
 * | a deletion was written down | `deleting`, maybe a file | removes the file, `deleted` |
 */
import { Turns } from "@klutch/data-servers";
import type { Logger } from "@klutch/telemetry";
import type { Driver } from "../drivers/driver.ts";
import type { Instance, Store } from "../store.ts";
import type { BackupFiles } from "./files.ts";
import type { BackupRecord } from "./records.ts";
import type { BackupStore } from "./store.ts";

/** How long backups are kept. */
export interface Retention {
  readonly days: number;
  /** The newest backups of each instance that are kept, however old they are. */
  readonly minCount: number;
}

/** Objects that the worker uses. */
export interface WorkerParts {
  readonly instances: Store;
  readonly store: BackupStore;
  readonly files: BackupFiles;
  readonly driverOf: (instance: Instance) => Driver | undefined;
  readonly retention: Retention;
  readonly logger: Logger;
  /** Called after each step; tests end the process there. */
  readonly onStep?: ((step: string) => void | Promise<void>) | undefined;
}

/** A piece of work that ends the process each time is not begun for ever. */
const mostAttempts = 5;
const longestMs = 2 * 60 * 60 * 1000;
const longestMessage = 500;
/** The API shows a deleted backup for at least so long. */
const keptAfterDeletionDays = 90;

/** Runs one piece of work at a time for each instance. Work that is not finished at disposal is taken up at the next start. */
export class Worker implements AsyncDisposable {
  readonly #parts: WorkerParts;
  readonly #turns = new Turns();
  readonly #known = new Set<string>();
  readonly #stops = new Map<string, AbortController>();
  #isClosed = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  /** Removes files that a killed process left. Call it once, before anything else. */
  async cleanUp(): Promise<void> {
    const { store, instances, files } = this.#parts;
    const kept = new Set<number>();
    for (const instance of await instances.instanceIds())
      for (const { id, state } of await store.backupsOf(instance)) if (state === "done") kept.add(id);
    await files.keepOnly(kept);
  }

  /** Takes up open work, ends deletions, and deletes what is too old. Call it at the start and regularly. */
  async sweep(): Promise<void> {
    const { store, retention, logger } = this.#parts;
    for (const { id, instanceId } of await store.unfinishedBackups()) this.backUp(instanceId, id);
    for (const { id, instanceId } of await store.unfinishedRestores()) this.restore(instanceId, id);
    for (const backup of await store.deleting()) await this.#finishDelete(backup, "deleted");
    for (const backup of await store.expired(retention.days, retention.minCount)) {
      if (!(await store.beginDelete(backup.id))) continue;
      await this.#step("delete begun");
      await this.#finishDelete(backup, `deleted after ${retention.days} days`);
      logger.info("old backup deleted", { instance: backup.instanceId, backup: backup.id });
    }
    await store.forgetDeleted(retention.days + keptAfterDeletionDays);
  }

  backUp(instanceId: string, id: number): void {
    this.#add(instanceId, `backup ${id}`, (signal) => this.#backUp(id, signal));
  }

  restore(instanceId: string, id: number): void {
    this.#add(instanceId, `restore ${id}`, (signal) => this.#restore(id, signal));
  }

  /** Removes the file of a backup that is being deleted. Throws the error of the file system; then the backup counts again. */
  async deleteFile(id: number): Promise<void> {
    const { files, store } = this.#parts;
    await this.#step("delete begun");
    try {
      await files.remove(id);
    } catch (error) {
      await store.giveUpDelete(id);
      throw error;
    }
    await this.#step("delete file removed");
    await store.finishDelete(id, "deleted");
  }

  /** Ends the work on an instance that goes. */
  async stop(instanceId: string): Promise<void> {
    await this.#parts.store.cancel(instanceId);
    this.#stops.get(instanceId)?.abort(new Error("the instance is being deleted"));
    await this.#turns.take(instanceId, () => Promise.resolve());
    this.#stops.delete(instanceId);
  }

  /** Removes an instance's backups: first the files, whose names would be lost with the records. */
  async forget(instanceId: string): Promise<void> {
    const { store, files } = this.#parts;
    for (const { id } of await store.backupsOf(instanceId)) {
      await files.remove(id);
      await this.#step("forget file removed");
    }
    await store.forget(instanceId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stops.values()) stop.abort(new Error("the backup manager ends"));
    await this.#turns.idle();
  }

  /** Does nothing when a piece of that name is waiting or running. */
  #add(instanceId: string, name: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#isClosed || this.#known.has(name)) return;
    this.#known.add(name);
    const stop = this.#stops.get(instanceId) ?? new AbortController();
    this.#stops.set(instanceId, stop);
    this.#turns
      .take(instanceId, async () => {
        if (!stop.signal.aborted) await work(stop.signal);
      })
      .catch((error: unknown) =>
        this.#parts.logger.error("work of the backup manager failed", { instance: instanceId, name, error }),
      )
      .finally(() => this.#known.delete(name));
  }

  async #backUp(id: number, stopped: AbortSignal): Promise<void> {
    const { store, files, logger } = this.#parts;
    const backup = await store.beginBackup(id);
    if (backup === undefined) return;
    const { instanceId: instance } = backup;
    try {
      requireAttempts(backup);
      await this.#step("backup running");
      const { driver, target } = await this.#target(instance);
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(longestMs)]);
      const written = await files.write(
        id,
        (to) => driver.dump(target, to, signal),
        () => this.#step("backup written"),
      );
      await this.#step("backup named");
      await store.endBackup(id, { state: "done", message: "", ...written });
      await this.#step("backup done");
      logger.info("backup done", { instance, backup: id, size: written.size });
    } catch (error) {
      await files.remove(id);
      if (stopped.aborted) return;
      logger.error("backup failed", { instance, backup: id, error });
      await store.endBackup(id, { state: "failed", message: messageOf(error) });
    }
  }

  async #restore(id: number, stopped: AbortSignal): Promise<void> {
    const { store, instances, files, logger, onStep } = this.#parts;
    const restore = await store.beginRestore(id);
    if (restore === undefined) return;
    const { instanceId: instance, backupId, token } = restore;
    try {
      requireAttempts(restore);
      await this.#step("restore running");
      const { driver, target } = await this.#target(instance);
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(longestMs)]);
      const { size = null, sha256 = null } = (await store.backup(backupId)) ?? {};
      if (size === null || sha256 === null) throw new Error(`backup ${backupId} is gone`);
      const open = await files.source(backupId, { size, sha256 }, signal);
      await this.#step("restore checked");
      const bindings = await instances.bindingsOf(instance);
      await driver.restore(target, bindings, open, { signal, token, onStep });
      await this.#step("restore exchanged");
      await store.endRestore(id, { state: "done", message: "" });
      await this.#step("restore done");
      logger.info("restore done", { instance, backup: backupId, restore: id });
    } catch (error) {
      if (stopped.aborted) return;
      logger.error("restore failed", { instance, backup: backupId, restore: id, error });
      await store.endRestore(id, { state: "failed", message: messageOf(error) });
    }
  }

  async #target(instanceId: string): Promise<{ readonly driver: Driver; readonly target: Instance }> {
    const target = await this.#parts.instances.instance(instanceId);
    if (target === undefined) throw new Error(`instance ${instanceId} does not exist`);
    const driver = this.#parts.driverOf(target);
    if (driver === undefined) throw new Error(`the service of instance ${instanceId} has no backups`);
    return { driver, target };
  }

  /** The next sweep tries a deletion again that fails. */
  async #finishDelete({ id, instanceId }: BackupRecord, message: string): Promise<void> {
    const { files, store, logger } = this.#parts;
    try {
      await files.remove(id);
      await this.#step("delete file removed");
      await store.finishDelete(id, message);
    } catch (error) {
      logger.error("the file of a backup could not be deleted", { instance: instanceId, backup: id, error });
    }
  }

  async #step(step: string): Promise<void> {
    await this.#parts.onStep?.(step);
  }
}

function requireAttempts({ attempts }: { readonly attempts: number }): void {
  if (attempts > mostAttempts)
    throw new Error(`it was begun ${mostAttempts} times, and the backup manager ended each time`);
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, longestMessage);
}
