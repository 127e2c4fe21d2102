/** Serves the HTTP API of a9s backup managers. */
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Logger } from "@klutch/telemetry";
import { checkAuthorization, errorAnswer } from "../app.ts";
import { BrokerError } from "../errors.ts";
import type { BackupManager } from "./manager.ts";
import type { BackupRecord, RestoreRecord } from "./records.ts";

/** Options of `createBackupApp`. */
export interface BackupAppOptions {
  readonly manager: BackupManager;
  readonly username: string;
  readonly password: string;
  readonly logger: Logger;
}

const instancePath = "/instances/:instance";
const backupPath = `${instancePath}/backups/:backup`;

/** Creates the application; the broker serves it under a path of its own. */
export function createBackupApp(options: BackupAppOptions): Hono {
  const { manager, logger } = options;
  const app = new Hono();
  app.onError((error, context) => errorAnswer(error, context, logger));
  app.use("*", async (context, next) => {
    checkAuthorization(context.req.header("authorization"), options);
    await next();
  });
  app.use("*", bodyLimit({ maxSize: 64 * 1024 }));
  app.get("/v2/healthy", (context) => context.json({ status: "ok" }));
  app.get("/instances", async (context) =>
    context.json((await manager.instances()).map((id) => ({ instance_id: id }))),
  );
  addBackupRoutes(app, manager);
  addRestoreRoutes(app, manager);
  addSettingsRoutes(app, manager);
  app.all("*", (context) => {
    throw new BrokerError(404, "NotFound", `no such path: ${context.req.method} ${context.req.path}`);
  });
  return app;
}

function addBackupRoutes(app: Hono, manager: BackupManager): void {
  app.post(`${instancePath}/backups`, async (context) => {
    const id = await manager.createBackup(instanceOf(context));
    return context.json({ id, message: "the backup is queued" }, 201);
  });
  app.get(`${instancePath}/backups`, async (context) =>
    context.json((await manager.backups(instanceOf(context))).map(backupAnswer)),
  );
  app.get(backupPath, async (context) => {
    const backup = await manager.backup(instanceOf(context), numberOf(context, "backup"));
    return context.json(backupAnswer(backup));
  });
  app.delete(backupPath, async (context) => {
    const message = await manager.deleteBackup(instanceOf(context), numberOf(context, "backup"));
    return context.json({ message });
  });
}

function addRestoreRoutes(app: Hono, manager: BackupManager): void {
  app.post(`${backupPath}/restore`, async (context) => {
    const id = await manager.createRestore(instanceOf(context), numberOf(context, "backup"));
    return context.json({ id, message: "the restore is queued" }, 202);
  });
  app.get(`${instancePath}/restores`, async (context) =>
    context.json((await manager.restores(instanceOf(context))).map(restoreAnswer)),
  );
  app.get(`${instancePath}/restores/:restore`, async (context) => {
    const restore = await manager.restore(instanceOf(context), numberOf(context, "restore"));
    return context.json(restoreAnswer(restore));
  });
}

function addSettingsRoutes(app: Hono, manager: BackupManager): void {
  app.get(`${instancePath}/config`, async (context) => {
    const settings = await manager.settings(instanceOf(context));
    return context.json({
      min_backup_count: settings.retention.minCount,
      retention_time: settings.retention.days,
      min_encryption_key_length: minKeyLength,
      exclude_from_auto_backup: settings.excludeFromAutoBackup,
      backup_type: settings.backupType,
    });
  });
  app.put(instancePath, async (context) => {
    const id = instanceOf(context);
    await manager.exclude(id, exclusionOf(await context.req.json().catch(() => undefined)));
    return context.json({ message: `the backups of instance ${id} are configured` });
  });
}

/** Renders times in UTC with milliseconds; unknown values are null. */
function backupAnswer(backup: BackupRecord): object {
  return {
    id: backup.id,
    size: backup.size,
    status: backup.state,
    triggered_at: backup.triggeredAt.toISOString(),
    finished_at: backup.finishedAt?.toISOString() ?? null,
    downloadable: false,
    message: backup.message,
  };
}

function restoreAnswer(restore: RestoreRecord): object {
  return {
    id: restore.id,
    backup_id: restore.backupId,
    status: restore.state,
    triggered_at: restore.triggeredAt.toISOString(),
    finished_at: restore.finishedAt?.toISOString() ?? null,
    message: restore.message,
  };
}

function instanceOf(context: Context): string {
  const value = context.req.param("instance") ?? "";
  if (!/^[\x21-\x7e]{1,255}$/.test(value))
    throw badRequest("the instance id must have 1 to 255 printable characters without spaces");
  return value;
}

function numberOf(context: Context, name: "backup" | "restore"): number {
  const value = context.req.param(name) ?? "";
  const number = /^\d{1,16}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && Number.isSafeInteger(number)) return number;
  throw badRequest(`the ${name} id must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`);
}

const settable = ["encryption_key", "exclude_from_auto_backup", "credentials_updated_by_user"];
/** The shortest encryption key of an instance, in characters. */
const minKeyLength = 16;

/**
 * Reads `exclude_from_auto_backup`; undefined when it stays. Throws `BrokerError` 400 that names the field and what would be right, never an
 * encryption key. A right key is refused as well: backups here are not encrypted, and must not look as if they were.
 */
function exclusionOf(value: unknown): boolean | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badRequest("the body is not a JSON object");
  const body = new Map<string, unknown>(Object.entries(value));
  const unknown = [...body.keys()].find((name) => !settable.includes(name));
  if (unknown !== undefined) throw badRequest(`${unknown} is not known; possible: ${settable.join(", ")}`);
  if (body.size === 0) throw badRequest(`the body has no field; possible: ${settable.join(", ")}`);
  for (const name of ["exclude_from_auto_backup", "credentials_updated_by_user"])
    if (body.has(name) && typeof body.get(name) !== "boolean")
      throw badRequest(`${name} must be true or false`);
  const key = body.get("encryption_key");
  if (key !== undefined && (typeof key !== "string" || key.length < minKeyLength || key.length > 1024))
    throw badRequest(`encryption_key must be a text of ${minKeyLength} to 1024 characters`);
  if (key !== undefined)
    throw badRequest(
      "encryption_key is not supported: backups of the sandbox are not encrypted; leave it out",
    );
  const isExcluded = body.get("exclude_from_auto_backup");
  return typeof isExcluded === "boolean" ? isExcluded : undefined;
}

function badRequest(message: string): BrokerError {
  return new BrokerError(400, "BadRequest", message);
}
