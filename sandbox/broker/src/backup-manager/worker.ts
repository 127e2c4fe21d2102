/**
 * Makes backups and restores that the store knows of. A process may be killed between any two lines: what is meant to happen stands in the
 * store before it happens, a file counts only after its record says so, and each piece of work can be begun again from its start.
 *
 * | killed after | left | next start |
 * |---|---|---|
 * | the request was written down | `queued` | begins |
 * | a part of the file, or all of it | `running`, a file | removes the file, begins again |
 * | the record says `done` | a backup | – |
 * | a part of a restore | `running`, a half database | removes it, begins again |
 * | the exchange of the data | `running`, the new data | sees that it was done, writes it down |
 * | a deletion was written down | `deleting`, maybe a file | removes the file, `deleted` |
 */
import type { Logger } from "@klutch/telemetry";
import type { Instance, Store } from "../store.ts";
import type { Dumps } from "./dumps.ts";
import type { BackupFiles } from "./files.ts";
import { Jobs } from "./jobs.ts";
import type { Keys } from "./keys.ts";
import type { BackupRecord } from "./records.ts";
import type { BackupStore } from "./store.ts";

/** How long backups are kept. */
export interface Retention {
  readonly days: number;
  /** So many of each instance are kept, however old they are. */
  readonly minCount: number;
}

/** What the worker works with. */
export interface WorkerParts {
  readonly instances: Store;
  readonly store: BackupStore;
  readonly files: BackupFiles;
  readonly keys: Keys;
  readonly dumps: readonly Dumps[];
  /** Id of the service of an instance. */
  readonly serviceOf: (instance: Instance) => string;
  readonly retention: Retention;
  readonly logger: Logger;
  /** Told of each step before the next one; tests end the process there. Default: nothing. */
  readonly onStep?: ((step: string) => void | Promise<void>) | undefined;
}

const atATime = 2;
/** One that ends the process each time must not do so for ever. */
const mostAttempts = 5;
const longestMs = 2 * 60 * 60 * 1000;
const longestMessage = 500;
/** So long the API still tells of a deleted backup, at least. */
const keptAfterDeletionDays = 90;

/** Runs until it is disposed; what it has not finished then is taken up at the next start. */
export class Worker implements AsyncDisposable {
  readonly #parts: WorkerParts;
  readonly #jobs: Jobs;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#jobs = new Jobs(atATime, parts.logger);
  }

  /** Removes what a killed process left. Call it once, before anything else. */
  async cleanUp(): Promise<void> {
    const { dumps, store, files, logger } = this.#parts;
    for (const each of dumps)
      await each
        .cleanUp()
        .catch((error: unknown) => logger.error("leftovers of restores were not removed", { error }));
    await files.prepare();
    const wanted = await store.idsWithFiles();
    for (const id of await files.ids()) if (!wanted.has(id)) await files.remove(id);
  }

  /** Takes up what is open, ends deletions, and deletes what is too old. Call it at the start and now and then. */
  async sweep(): Promise<void> {
    const { store, retention, logger } = this.#parts;
    const { backups, restores } = await store.unfinished();
    for (const { id, instanceId } of backups) this.backUp(instanceId, id);
    for (const { id, instanceId } of restores) this.restore(instanceId, id);
    for (const backup of await store.deleting()) await this.#finishDelete(backup, "deleted");
    for (const backup of await store.expired(retention.days, retention.minCount)) {
      // A restore may have begun since.
      if (!(await store.beginDelete(backup.id, (_, restoresRunning) => !restoresRunning))) continue;
      await this.#step("delete begun");
      await this.#finishDelete(backup, `deleted after ${retention.days} days`);
      logger.info("old backup deleted", { instance: backup.instanceId, backup: backup.id });
    }
    await store.forgetDeleted(retention.days + keptAfterDeletionDays);
  }

  backUp(instanceId: string, id: number): void {
    this.#jobs.add(instanceId, `backup ${id}`, (signal) => this.#backUp(id, signal));
  }

  restore(instanceId: string, id: number): void {
    this.#jobs.add(instanceId, `restore ${id}`, (signal) => this.#restore(id, signal));
  }

  /** Removes the file of a backup whose deletion is written down. Throws what the file system says; then the backup counts again. */
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

  /** Ends what is done with an instance that goes. */
  async stop(instanceId: string): Promise<void> {
    await this.#parts.store.cancel(instanceId);
    await this.#jobs.stop(instanceId);
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

  dumpsOf(instance: Instance): Dumps | undefined {
    return this.#parts.dumps.find(({ serviceId }) => serviceId === this.#parts.serviceOf(instance));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#jobs[Symbol.asyncDispose]();
  }

  async #backUp(id: number, stopped: AbortSignal): Promise<void> {
    const { store, files, keys, logger } = this.#parts;
    if (stopped.aborted) return;
    const backup = await store.beginBackup(id);
    if (backup === undefined) return;
    const { instanceId: instance } = backup;
    try {
      requireAttempts(backup);
      await this.#step("backup running");
      const { dumps, target } = await this.#target(instance);
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(longestMs)]);
      const written = await files.write(
        id,
        keys.secretOf(backup.sealedKey),
        (to) => dumps.dump(target, to, signal),
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
    const { store, files, keys, logger } = this.#parts;
    if (stopped.aborted) return;
    const restore = await store.beginRestore(id);
    if (restore === undefined) return;
    const { instanceId: instance, backupId, token } = restore;
    try {
      requireAttempts(restore);
      await this.#step("restore running");
      const { dumps, target } = await this.#target(instance);
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(longestMs)]);
      const backup = await store.backup(backupId);
      if (backup?.sha256 === undefined || backup.sha256 === null || backup.size === null)
        throw new Error(`backup ${backupId} is gone`);
      const written = { size: backup.size, sha256: backup.sha256 };
      const source = await files.source(backupId, keys.secretOf(backup.sealedKey), written, signal);
      await this.#step("restore checked");
      await dumps.restore(target, source, { signal, token });
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

  async #target(instanceId: string): Promise<{ readonly dumps: Dumps; readonly target: Instance }> {
    const target = await this.#parts.instances.instance(instanceId);
    if (target === undefined) throw new Error(`instance ${instanceId} does not exist`);
    const dumps = this.dumpsOf(target);
    if (dumps === undefined) throw new Error(`the service of instance ${instanceId} has no backups`);
    return { dumps, target };
  }

  /** One that does not work is tried again by the next sweep. */
  async #finishDelete(backup: BackupRecord, message: string): Promise<void> {
    const { files, store, logger } = this.#parts;
    try {
      await files.remove(backup.id);
      await this.#step("delete file removed");
      await store.finishDelete(backup.id, message);
    } catch (error) {
      logger.error("the file of a backup could not be deleted", {
        instance: backup.instanceId,
        backup: backup.id,
        error,
      });
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
