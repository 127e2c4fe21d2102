/** Puts the backup manager together. */
import type { Hono } from "hono";
import type { Pool } from "pg";
import type { Logger } from "@klutch/telemetry";
import type { Driver } from "../drivers/driver.ts";
import type { Instance, Store } from "../store.ts";
import { createBackupApp } from "./app.ts";
import { BackupFiles } from "./files.ts";
import { BackupManager } from "./manager.ts";
import { BackupStore } from "./store.ts";
import { type Retention, Worker } from "./worker.ts";

/** Where backups are stored and how long. */
export interface BackupConfig {
  /** Folder of the files, of this broker only. */
  readonly folder: string;
  readonly retention: Retention;
  /** Called after each step; tests end the process there. */
  readonly onStep?: ((step: string) => void | Promise<void>) | undefined;
}

/** Objects that the broker has already. */
export interface BackupParts {
  readonly config: BackupConfig;
  readonly username: string;
  readonly password: string;
  readonly pool: Pool;
  readonly instances: Store;
  readonly driverOf: (instance: Instance) => Driver | undefined;
  readonly logger: Logger;
}

/** A backup manager whose work waits for `start`. */
export interface PreparedBackups extends AsyncDisposable {
  readonly app: Hono;
  readonly worker: Worker;
  /** Takes up what a killed process left open, and looks for work regularly from then on. */
  start(): Promise<void>;
}

const sweepEveryMs = 60_000;

/** Removes files that a killed process left half-written. */
export async function prepareBackups({ config, pool, ...parts }: BackupParts): Promise<PreparedBackups> {
  const { logger } = parts;
  const store = new BackupStore(pool);
  const files = new BackupFiles(config.folder);
  const worker = new Worker({ ...parts, ...config, store, files });
  await worker.cleanUp();
  const manager = new BackupManager({ ...parts, ...config, store, worker });
  let timer: NodeJS.Timeout | undefined;
  return {
    app: createBackupApp({ ...parts, manager }),
    worker,
    async start() {
      await worker.sweep();
      timer = setInterval(() => {
        worker
          .sweep()
          .catch((error: unknown) => logger.error("the backup manager could not look for work", { error }));
      }, sweepEveryMs);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await worker[Symbol.asyncDispose]();
    },
  };
}
