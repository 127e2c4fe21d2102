/**
 * Makes the backups and restores that the store lists. The process may be killed between any two lines: the store records an action
 * before it happens, a file counts only after its record confirms it, and each piece of work can be begun again.
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
import type { Writable } from "node:stream";
import { KeyedQueue } from "@klutch/data-servers";
import type { Logger } from "@klutch/telemetry";
import type { Driver } from "../drivers/driver.ts";
import type { Instance, Store } from "../store.ts";
import { BackupFiles } from "./files.ts";
import type { BackupRecord, Records, RestoreRecord } from "./records.ts";
import type { BackupStore } from "./store.ts";

/** Sets where backups are stored and for how long. */
export interface BackupConfig {
  /** Folder of the files, of this broker only. */
  readonly folder: string;
  /** Keeps backups for `days`, and the newest `minCount` of each instance whatever their age. */
  readonly retention: Readonly<Record<"days" | "minCount", number>>;
  /** Called after each step; tests end the process there. */
  readonly onStep?: ((step: string) => void | Promise<void>) | undefined;
}

/** Objects that the worker uses. */
export interface WorkerParts extends BackupConfig {
  readonly instances: Store;
  readonly store: BackupStore;
  readonly driverOf: (instance: Instance) => Driver | undefined;
  readonly logger: Logger;
}

const sweepEveryMs = 60_000;
/** Work that ends the process each time is not begun for ever. */
const mostAttempts = 5;
const longestMs = 2 * 60 * 60 * 1000;
const longestMessage = 500;
const keptAfterDeletionDays = 90;

/** Runs one piece of work at a time for each instance. Work that is not finished at disposal is taken up at the next start. */
export class Worker implements AsyncDisposable {
  readonly #parts: WorkerParts;
  readonly #files: BackupFiles;
  readonly #queue = new KeyedQueue();
  readonly #known = new Set<string>();
  readonly #stops = new Map<string, AbortController>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#files = new BackupFiles(parts.folder);
  }

  /** Removes files that a killed process left, takes up its open work, and looks for work regularly from then on. */
  async start(): Promise<void> {
    const { store, instances, logger } = this.#parts;
    const kept = new Set<number>();
    for (const instance of await instances.instanceIds())
      for (const { id, state } of await store.ofInstance("backups", instance))
        if (state === "done") kept.add(id);
    await this.#files.keepOnly(kept);
    await this.#sweep();
    this.#timer = setInterval(() => {
      this.#sweep().catch((error: unknown) =>
        logger.error("the backup manager could not look for work", { error }),
      );
    }, sweepEveryMs);
  }

  /** Makes a backup or restore that the store lists. Does nothing when it waits or runs already. */
  add(table: keyof Records, { id, instanceId }: { readonly id: number; readonly instanceId: string }): void {
    const name = `${table} ${id}`;
    if (this.#isClosed || this.#known.has(name)) return;
    this.#known.add(name);
    const stop = this.#stops.getOrInsertComputed(instanceId, () => new AbortController());
    this.#queue
      .run(instanceId, async () => {
        if (!stop.signal.aborted) await this.#work(table, id, stop.signal);
      })
      .catch((error: unknown) =>
        this.#parts.logger.error("work of the backup manager failed", { instance: instanceId, name, error }),
      )
      .finally(() => this.#known.delete(name));
  }

  /** Removes the file of a backup that is being deleted. Throws the error of the file system; then the backup counts again. */
  async deleteFile(id: number, message = "deleted"): Promise<void> {
    const { store } = this.#parts;
    await this.#step("delete begun");
    try {
      await this.#files.remove(id);
    } catch (error) {
      await store.giveUpDelete(id);
      throw error;
    }
    await this.#step("delete file removed");
    await store.finishDelete(id, message);
  }

  /** Ends the work on an instance that goes. */
  async stop(instanceId: string): Promise<void> {
    await this.#parts.store.cancel(instanceId);
    this.#stops.get(instanceId)?.abort(new Error("the instance is being deleted"));
    await this.#queue.run(instanceId, () => Promise.resolve());
    this.#stops.delete(instanceId);
  }

  /** Removes an instance's backups: first the files, whose names would be lost with the records. */
  async forget(instanceId: string): Promise<void> {
    const { store } = this.#parts;
    for (const { id } of await store.ofInstance("backups", instanceId)) {
      await this.#files.remove(id);
      await this.#step("forget file removed");
    }
    await store.forget(instanceId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#isClosed = true;
    for (const stop of this.#stops.values()) stop.abort(new Error("the backup manager ends"));
    await this.#queue.idle();
  }

  /** Resumes unfinished work, completes deletions, and deletes expired backups. */
  async #sweep(): Promise<void> {
    const { store, retention, logger } = this.#parts;
    for (const table of ["backups", "restores"] as const)
      for (const job of await store.unfinished(table)) this.add(table, job);
    const ended: (readonly [BackupRecord, string])[] = [];
    for (const backup of await store.deleting()) ended.push([backup, "deleted"]);
    for (const backup of await store.expired(retention.days, retention.minCount))
      if (await store.beginDelete(backup.id)) ended.push([backup, `deleted after ${retention.days} days`]);
    for (const [{ id, instanceId: instance }, message] of ended)
      await this.deleteFile(id, message).then(
        () => logger.info("backup deleted", { instance, backup: id }),
        (error: unknown) =>
          logger.error("the file of a backup could not be deleted", { instance, backup: id, error }),
      );
    await store.forgetDeleted(retention.days + keptAfterDeletionDays);
  }

  async #work(table: keyof Records, id: number, stopped: AbortSignal): Promise<void> {
    const { store, logger } = this.#parts;
    const job = (await store.begin(table, id)) ? await store.find(table, id) : undefined;
    if (job === undefined) return;
    const word = "backupId" in job ? "restore" : "backup";
    const about = { instance: job.instanceId, [word]: id };
    try {
      await this.#step(`${word} running`);
      const { driver, target } = await this.#target(job);
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(longestMs)]);
      await ("backupId" in job
        ? this.#restore(job, driver, target, signal)
        : this.#backUp(job, driver, target, signal));
      await store.end(table, id, { state: "done", message: "" });
      await this.#step(`${word} done`);
      logger.info(`${word} done`, about);
    } catch (error) {
      if (word === "backup") await this.#files.remove(id);
      if (stopped.aborted) return;
      logger.error(`${word} failed`, { ...about, error });
      const message = error instanceof Error ? error.message : String(error);
      await store.end(table, id, { state: "failed", message: message.slice(0, longestMessage) });
    }
  }

  async #backUp({ id }: BackupRecord, driver: Driver, target: Instance, signal: AbortSignal): Promise<void> {
    const dump = (to: Writable): Promise<void> => driver.dump(target, to, signal);
    const written = await this.#files.write(id, dump, () => this.#step("backup written"));
    await this.#step("backup named");
    await this.#parts.store.setFile(id, written);
  }

  async #restore(job: RestoreRecord, driver: Driver, target: Instance, signal: AbortSignal): Promise<void> {
    const { instanceId, backupId, token } = job;
    const { store, instances, onStep } = this.#parts;
    const { size = null, sha256 = null } = (await store.find("backups", backupId)) ?? {};
    if (size === null || sha256 === null) throw new Error(`backup ${backupId} is gone`);
    const open = await this.#files.source(backupId, { size, sha256 }, signal);
    await this.#step("restore checked");
    const bindings = await instances.bindingsOf(instanceId);
    await driver.restore(target, bindings, { open, signal, token, onStep });
    await this.#step("restore exchanged");
  }

  async #target({ instanceId, attempts }: BackupRecord | RestoreRecord) {
    if (attempts > mostAttempts)
      throw new Error(`it was begun ${mostAttempts} times, and the backup manager ended each time`);
    const target = await this.#parts.instances.instance(instanceId);
    const driver = target === undefined ? undefined : this.#parts.driverOf(target);
    if (target === undefined || driver === undefined)
      throw new Error(`instance ${instanceId} does not exist, or its service cannot be backed up`);
    return { driver, target };
  }

  async #step(step: string): Promise<void> {
    await this.#parts.onStep?.(step);
  }
}
