/** Names the call of a request, for counting. */
import type { BackupManagerCall } from "./call.ts";

const ofBackups: Readonly<Record<string, BackupManagerCall>> = { GET: "listBackups", POST: "createBackup" };
const ofBackup: Readonly<Record<string, BackupManagerCall>> = { GET: "getBackup", DELETE: "deleteBackup" };

const below = "/instances/[^/]+";
/** Calls by the end of the path; the beginning belongs to the server of the API. */
const calls: readonly (readonly [RegExp, Readonly<Record<string, BackupManagerCall>>])[] = [
  [new RegExp(`${below}/backups$`), ofBackups],
  [new RegExp(`${below}/backups/[^/]+$`), ofBackup],
  [new RegExp(`${below}/backups/[^/]+/restore$`), { POST: "createRestore" }],
  [new RegExp(`${below}/restores$`), { GET: "listRestores" }],
  [new RegExp(`${below}/restores/[^/]+$`), { GET: "getRestore" }],
  [new RegExp(`${below}/config$`), { GET: "getInstanceConfig" }],
  [new RegExp(`${below}$`), { PUT: "updateBackupConfig" }],
  [/\/(?:instances|v2\/healthy)$/, { GET: "checkHealth" }],
];

/** The call by its name, or `other`. Never an identifier. `path`: without query. */
export function callOf(method: string, path: string): BackupManagerCall | "other" {
  return calls.find(([pattern]) => pattern.test(path))?.[1][method] ?? "other";
}
