/** Puts the backup manager together. */
import type { Hono } from "hono";
import type { Logger } from "@klutch/telemetry";
import type { Maintenance } from "../maintenance.ts";
import type { Backups } from "../service.ts";
import type { Instance, Store } from "../store.ts";
import { createBackupApp } from "./app.ts";
import type { Dumps } from "./dumps.ts";
import { BackupFiles } from "./files.ts";
import { Keys } from "./keys.ts";
import { BackupManager } from "./manager.ts";
import { BackupStore } from "./store.ts";
import { type Retention, Worker } from "./worker.ts";

/** Where backups are and how long. */
export interface BackupConfig {
  /** Folder of the files; nobody else's. */
  readonly folder: string;
  /** Folder of `pg_dump` and `pg_restore`. Default: they are looked for. */
  readonly postgresPrograms?: string | undefined;
  /** Where their libraries are, as in `LD_LIBRARY_PATH`. Default: where the system looks for them. */
  readonly postgresLibraries?: string | undefined;
  /** Where programs are looked for besides, as in `PATH`. */
  readonly searchPath: string;
  readonly retention: Retention;
  /** Told of each step of the work before the next one. Default: nothing. */
  readonly onStep?: ((step: string) => void | Promise<void>) | undefined;
}

/** What the broker has already. */
export interface BackupParts {
  readonly config: BackupConfig;
  readonly secretKey: string;
  readonly username: string;
  readonly password: string;
  readonly maintenance: Maintenance;
  readonly instances: Store;
  readonly dumps: readonly Dumps[];
  readonly serviceOf: (instance: Instance) => string;
  readonly logger: Logger;
}

/** A backup manager whose work waits for `start`. */
export interface PreparedBackups extends Backups, AsyncDisposable {
  readonly app: Hono;
  /** Takes up what a killed process left open, and looks for what is to be done from then on. */
  start(): Promise<void>;
}

const sweepEveryMs = 60_000;

/** Makes its tables and removes what a killed process left half-made. */
export async function prepareBackups(parts: BackupParts): Promise<PreparedBackups> {
  const { config, instances, logger, dumps, serviceOf, username, password } = parts;
  const store = new BackupStore(parts.maintenance.pool);
  await store.prepare();
  const keys = new Keys(parts.secretKey);
  const files = new BackupFiles(config.folder);
  const { retention, onStep } = config;
  const worker = new Worker({
    instances,
    store,
    files,
    keys,
    dumps,
    serviceOf,
    retention,
    logger,
    onStep,
  });
  await worker.cleanUp();
  const manager = new BackupManager({
    instance: (id) => instances.instance(id),
    store,
    worker,
    keys,
    retention,
  });
  let timer: NodeJS.Timeout | undefined;
  return {
    app: createBackupApp({ manager, username, password, logger }),
    stop: (instanceId) => worker.stop(instanceId),
    forget: (instanceId) => worker.forget(instanceId),
    async start() {
      await worker.sweep();
      timer = setInterval(() => {
        worker
          .sweep()
          .catch((error: unknown) =>
            logger.error("looking for work of the backup manager failed", { error }),
          );
      }, sweepEveryMs);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await worker[Symbol.asyncDispose]();
    },
  };
}
