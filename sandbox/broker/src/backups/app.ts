/** Serves the HTTP API of a9s backup managers, and decides which requests are possible now. The worker carries out the recorded jobs. */
import { type Context, Hono } from "hono";
import { errorAnswer, guards } from "../app.ts";
import { badRequest, BrokerError, identifierIn, notFound } from "../errors.ts";
import type { Instance } from "../store.ts";
import type { BackupRecord, RestoreRecord } from "./records.ts";
import type { Worker, WorkerParts } from "./worker.ts";

/** Options of `createBackupApp`. */
export interface BackupAppOptions extends WorkerParts {
  readonly worker: Worker;
  readonly username: string;
  readonly password: string;
}

const instancePath = "/instances/:instance";
const backupPath = `${instancePath}/backups/:backup`;

/** Creates the application; the broker serves it under a path of its own. */
export function createBackupApp(options: BackupAppOptions): Hono {
  const { instances, logger } = options;
  const app = new Hono();
  app.onError((error, context) => errorAnswer(error, context, logger));
  app.use("*", ...guards(options));
  app.get("/v2/healthy", (context) => context.json({ status: "ok" }));
  app.get("/instances", async (context) =>
    context.json((await instances.instanceIds()).map((id) => ({ instance_id: id }))),
  );
  addBackupRoutes(app, options);
  addRestoreRoutes(app, options);
  app.all("*", ({ req }) => {
    throw new BrokerError(404, "NotFound", `no such path: ${req.method} ${req.path}`);
  });
  return app;
}

function addBackupRoutes(app: Hono, options: BackupAppOptions): void {
  const { store, worker } = options;
  app.post(`${instancePath}/backups`, async (context) => {
    const instance = await possibleInstance(context, options);
    if (instance.restoring) throw concurrency(`instance ${instance.id} is being restored`);
    requireReady(instance);
    const id = await store.addBackup(instance.id);
    if (id === undefined) throw busy(instance);
    worker.add("backups", { id, instanceId: instance.id });
    return context.json({ id, message: "the backup is queued" }, 201);
  });
  app.get(`${instancePath}/backups`, async (context) => {
    const { id } = await instanceOf(context, options);
    return context.json((await store.ofInstance("backups", id)).map(backupAnswer));
  });
  app.get(backupPath, async (context) => context.json(backupAnswer(await backupOf(context, options))));
  app.delete(backupPath, async (context) => {
    const { id, state, deleting } = await backupOf(context, options);
    // Deleting again is no error.
    if (state === "deleted") return context.json({ message: `backup ${id} is deleted already` });
    if (!deleting && !(await store.beginDelete(id))) {
      const reason = state === "queued" || state === "running" ? state : "being restored";
      throw new BrokerError(423, "Locked", `backup ${id} is ${reason}; try again when that has ended`);
    }
    try {
      await worker.deleteFile(id);
    } catch (error) {
      const reason = error instanceof Error && "code" in error ? String(error.code) : "see the log";
      const message = `the file of backup ${id} could not be deleted (${reason}); try again`;
      throw new BrokerError(400, "BackupFileDeletionFailed", message);
    }
    return context.json({ message: `backup ${id} is deleted` });
  });
}

function addRestoreRoutes(app: Hono, options: BackupAppOptions): void {
  const { store, worker } = options;
  app.post(`${backupPath}/restore`, async (context) => {
    const instance = await possibleInstance(context, options);
    const backup = await backupOf(context, options);
    requireRestorable(backup);
    requireReady(instance);
    const id = await store.addRestore(instance.id, backup.id);
    if (id === undefined) {
      const { restoring } = await instanceOf(context, options);
      throw restoring ? concurrency("A restore is already in progress.") : busy(instance);
    }
    worker.add("restores", { id, instanceId: instance.id });
    return context.json({ id, message: "the restore is queued" }, 202);
  });
  app.get(`${instancePath}/restores`, async (context) => {
    const { id } = await instanceOf(context, options);
    return context.json((await store.ofInstance("restores", id)).map(restoreAnswer));
  });
  app.get(`${instancePath}/restores/:restore`, async (context) => {
    const instance = await instanceOf(context, options);
    const id = numberOf(context, "restore");
    const restore = await store.find("restores", id);
    if (restore?.instanceId === instance.id) return context.json(restoreAnswer(restore));
    throw new BrokerError(404, "NotFound", `instance ${instance.id} has no restore ${id}`);
  });
}

async function instanceOf(context: Context, { instances }: BackupAppOptions): Promise<Instance> {
  const id = identifierIn(context.req.param("instance"), "instance");
  const instance = await instances.instance(id);
  if (instance === undefined) throw notFound("Instance", id);
  return instance;
}

async function possibleInstance(context: Context, options: BackupAppOptions): Promise<Instance> {
  const instance = await instanceOf(context, options);
  const driver = options.driverOf(instance);
  const missing = `the programs of the service of instance ${instance.id} are not on this machine any more`;
  const obstacle = driver === undefined ? missing : driver.obstacle;
  if (obstacle !== undefined) throw new BrokerError(422, "NotPossible", obstacle);
  return instance;
}

async function backupOf(context: Context, options: BackupAppOptions): Promise<BackupRecord> {
  const instance = await instanceOf(context, options);
  const id = numberOf(context, "backup");
  const backup = await options.store.find("backups", id);
  if (backup?.instanceId === instance.id) return backup;
  throw new BrokerError(404, "NotFound", `instance ${instance.id} has no backup ${id}`);
}

function numberOf(context: Context, name: "backup" | "restore"): number {
  const value = context.req.param(name) ?? "";
  const number = /^\d{1,16}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && Number.isSafeInteger(number)) return number;
  throw badRequest(`the ${name} id must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`);
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

function concurrency(message: string): BrokerError {
  return new BrokerError(409, "ConcurrencyError", message);
}

function busy({ id }: Instance): BrokerError {
  return concurrency(`another operation on instance ${id} is in progress`);
}

function backupAnswer(backup: BackupRecord): object {
  return { ...jobAnswer(backup), size: backup.size, downloadable: false };
}

function restoreAnswer(restore: RestoreRecord): object {
  return { ...jobAnswer(restore), backup_id: restore.backupId };
}

/** Renders times in UTC with milliseconds; unknown values are null. */
function jobAnswer({ id, state, triggeredAt, finishedAt, message }: BackupRecord | RestoreRecord): object {
  const finished_at = finishedAt?.toISOString() ?? null;
  return { id, status: state, triggered_at: triggeredAt.toISOString(), finished_at, message };
}
