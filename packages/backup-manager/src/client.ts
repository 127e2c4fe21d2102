/** The calls of a backup manager. */
import { type Clean, cleanerFor, type HttpResponse } from "@klutch/http-client";
import type { Secret } from "@klutch/telemetry";
import type { CallAbout, BackupManagerCall } from "./call.ts";
import { type BackupManagerConfig, checkConfig } from "./config.ts";
import {
  type Context,
  decodeAccepted,
  decodeBackup,
  decodeBackups,
  decodeCreatedBackup,
  decodeCreatedRestore,
  decodeError,
  decodeInstanceConfig,
  decodeRestore,
  decodeRestores,
} from "./decode.ts";
import { BackupManagerError } from "./errors.ts";
import {
  backupsPath,
  configPath,
  healthPath,
  healthSubject,
  instancePath,
  restoresPath,
  subjectOf,
} from "./paths.ts";
import { createTransport, type WireRequest } from "./transport.ts";
import type {
  Accepted,
  Backup,
  BackupRef,
  CreatedBackup,
  CreatedRestore,
  InstanceConfig,
  Restore,
  RestoreRef,
} from "./types.ts";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call with the signal's reason. Whether the manager has done what was asked is then unknown. */
  readonly signal?: AbortSignal | undefined;
}

/** Change of an instance's backup configuration; at least one field. */
export interface BackupConfigChange {
  /** Key that encrypts later backups. Without it they cannot be restored. */
  readonly encryptionKey?: Secret<string> | undefined;
  /** True to disable automatic backups. */
  readonly excludeFromAutoBackup?: boolean | undefined;
  /** Tells the manager that another party changed the credentials by which it reads the instance. */
  readonly credentialsUpdatedByUser?: boolean | undefined;
}

/**
 * One backup manager. Each method sends one request, never a second one by itself. It throws
 *
 * - `BackupManagerError` for an answer that is not 2xx; see `isGone`, `isLocked`, `isRestoreRunning`, `isNotRestorable`, `isRefusal`,
 * - `BackupManagerTransportError` when there is no answer, or a 2xx one that cannot be used; see `mayHaveHappened`,
 * - `RangeError` for arguments that cannot be sent, before anything is sent,
 * - the reason of the caller's signal.
 */
export interface BackupManagerClient extends AsyncDisposable {
  /**
   * Asks for a backup. Not safe to repeat: each call that arrives makes one, and the API has no key to tell two calls from one. Before it,
   * remember what `createIntent` gives; after an error for which `mayHaveHappened` holds, ask `findLostBackup`.
   */
  createBackup(instanceId: string, options?: CallOptions): Promise<CreatedBackup>;
  /** All backups of the instance, in the manager's order, deleted ones too where the manager keeps their records. */
  listBackups(instanceId: string, options?: CallOptions): Promise<readonly Backup[]>;
  /** The state of one backup. */
  getBackup(ref: BackupRef, options?: CallOptions): Promise<Backup>;
  /** Deletes the data of a backup; most managers keep the record with the state `deleted`. Safe to repeat. */
  deleteBackup(ref: BackupRef, options?: CallOptions): Promise<Accepted>;
  /** Puts a backup back into the instance that it is of. Not safe to repeat, as `createBackup`; then ask `findLostRestore`. */
  createRestore(ref: BackupRef, options?: CallOptions): Promise<CreatedRestore>;
  /** All restores of the instance, in the manager's order. */
  listRestores(instanceId: string, options?: CallOptions): Promise<readonly Restore[]>;
  /** The state of one restore. */
  getRestore(ref: RestoreRef, options?: CallOptions): Promise<Restore>;
  /** Returns the backup configuration of the instance. */
  getInstanceConfig(instanceId: string, options?: CallOptions): Promise<InstanceConfig>;
  /** Changes how the manager backs up the instance. Safe to repeat. */
  updateBackupConfig(
    instanceId: string,
    change: BackupConfigChange,
    options?: CallOptions,
  ): Promise<Accepted>;
  /** Returns when the path, `/instances` by default, is answered with 2xx; its body is not read. */
  checkHealth(path?: string, options?: CallOptions): Promise<void>;
}

/** Called for each request, with the call, the status of the answer or undefined without one, and the duration. */
export type ObserveCall = (call: BackupManagerCall, status: number | undefined, tookMs: number) => void;

/** A client of the manager; connections are kept until it is disposed. Throws `BackupManagerConfigError`. */
export function createBackupManagerClient(
  config: BackupManagerConfig,
  observe: ObserveCall = () => undefined,
): BackupManagerClient {
  const checked = checkConfig(config);
  const transport = createTransport(checked);
  const cleanOfConfig = cleanerFor(checked.secrets);
  const call: Call = async (wire, options, decode, clean = cleanOfConfig) => {
    const startedAt = performance.now();
    let status: number | undefined;
    let response: HttpResponse;
    try {
      response = await transport.send({ ...wire, signal: options?.signal });
      ({ status } = response);
    } finally {
      observe(wire.call, status, performance.now() - startedAt);
    }
    const context: Context = { call: wire.call, subject: wire.subject, status: response.status, clean };
    if (response.status < 200 || response.status > 299)
      throw new BackupManagerError(wire, decodeError(response, context));
    return decode(response, context);
  };
  return {
    ...backupCalls(call),
    ...restoreCalls(call),
    ...configCalls(call, checked.secrets),
    async checkHealth(path = "/instances", options) {
      const wire: WireRequest = {
        call: "checkHealth",
        subject: healthSubject(path),
        method: "GET",
        path: healthPath(path),
        statusOnly: true,
      };
      await call(wire, options, () => undefined);
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

/** Sends a request and decodes its answer when it is 2xx. */
type Call = <T>(
  wire: WireRequest,
  options: CallOptions | undefined,
  decode: (response: HttpResponse, context: Context) => T,
  clean?: Clean,
) => Promise<T>;

function backupCalls(
  call: Call,
): Pick<BackupManagerClient, "createBackup" | "listBackups" | "getBackup" | "deleteBackup"> {
  return {
    async createBackup(instanceId, options) {
      const about: CallAbout = { call: "createBackup", subject: subjectOf(instanceId) };
      return call({ ...about, method: "POST", path: backupsPath(instanceId) }, options, decodeCreatedBackup);
    },
    async listBackups(instanceId, options) {
      const about: CallAbout = { call: "listBackups", subject: subjectOf(instanceId) };
      return call({ ...about, method: "GET", path: backupsPath(instanceId) }, options, decodeBackups);
    },
    async getBackup({ instanceId, backupId }, options) {
      const about: CallAbout = { call: "getBackup", subject: subjectOf(instanceId, "backup", backupId) };
      const wire: WireRequest = { ...about, method: "GET", path: backupsPath(instanceId, backupId) };
      return call(wire, options, (response, context) => decodeBackup(response, backupId, context));
    },
    async deleteBackup({ instanceId, backupId }, options) {
      const about: CallAbout = { call: "deleteBackup", subject: subjectOf(instanceId, "backup", backupId) };
      const wire: WireRequest = { ...about, method: "DELETE", path: backupsPath(instanceId, backupId) };
      return call(wire, options, decodeAccepted);
    },
  };
}

function restoreCalls(
  call: Call,
): Pick<BackupManagerClient, "createRestore" | "listRestores" | "getRestore"> {
  return {
    async createRestore({ instanceId, backupId }, options) {
      const about: CallAbout = { call: "createRestore", subject: subjectOf(instanceId, "backup", backupId) };
      const path = `${backupsPath(instanceId, backupId)}/restore`;
      return call({ ...about, method: "POST", path }, options, decodeCreatedRestore);
    },
    async listRestores(instanceId, options) {
      const about: CallAbout = { call: "listRestores", subject: subjectOf(instanceId) };
      return call({ ...about, method: "GET", path: restoresPath(instanceId) }, options, decodeRestores);
    },
    async getRestore({ instanceId, restoreId }, options) {
      const about: CallAbout = { call: "getRestore", subject: subjectOf(instanceId, "restore", restoreId) };
      const wire: WireRequest = { ...about, method: "GET", path: restoresPath(instanceId, restoreId) };
      return call(wire, options, (response, context) => decodeRestore(response, restoreId, context));
    },
  };
}

function configCalls(
  call: Call,
  secrets: readonly string[],
): Pick<BackupManagerClient, "getInstanceConfig" | "updateBackupConfig"> {
  return {
    async getInstanceConfig(instanceId, options) {
      const about: CallAbout = { call: "getInstanceConfig", subject: subjectOf(instanceId) };
      return call({ ...about, method: "GET", path: configPath(instanceId) }, options, decodeInstanceConfig);
    },
    async updateBackupConfig(instanceId, change, options) {
      const about: CallAbout = { call: "updateBackupConfig", subject: subjectOf(instanceId) };
      const key = change.encryptionKey?.reveal();
      const body = {
        encryption_key: key,
        exclude_from_auto_backup: change.excludeFromAutoBackup,
        credentials_updated_by_user: change.credentialsUpdatedByUser,
      };
      if (Object.values(body).every((value) => value === undefined))
        throw new RangeError("updateBackupConfig needs at least one field to change");
      const wire: WireRequest = { ...about, method: "PUT", path: instancePath(instanceId), body };
      // The answer must not tell the key either.
      const clean = cleanerFor(key === undefined ? secrets : [...secrets, key]);
      return call(wire, options, decodeAccepted, clean);
    },
  };
}
