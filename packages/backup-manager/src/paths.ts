/** Addresses of what the API has, below the base address, and their names in errors. */
import { cleanText } from "@klutch/http-client";

/** `/instances/{id}`. Throws `RangeError` for an id that would lead elsewhere. */
export function instancePath(instanceId: string): string {
  if (["", ".", ".."].includes(instanceId) || /[/%\\]/.test(instanceId) || !instanceId.isWellFormed())
    throw new RangeError(`${quoted(instanceId)} cannot be the id of an instance`);
  return `/instances/${encodeURIComponent(instanceId)}`;
}

/** Returns the path of all backups of an instance, or of one. Throws `RangeError`. */
export function backupsPath(instanceId: string, backupId?: number): string {
  return `${instancePath(instanceId)}/backups${oneOf("backup", backupId)}`;
}

/** Returns the path of all restores of an instance, or of one. Throws `RangeError`. */
export function restoresPath(instanceId: string, restoreId?: number): string {
  return `${instancePath(instanceId)}/restores${oneOf("restore", restoreId)}`;
}

/** Returns the path of an instance's configuration. Throws `RangeError`. */
export function configPath(instanceId: string): string {
  return `${instancePath(instanceId)}/config`;
}

/**
 * Returns a configured path, with or without a slash at its begin; a query may follow it. It is sent unchanged. Throws `RangeError` for
 * a path that would be sent differently, such as one that leads up or contains a line end.
 */
export function healthPath(path: string): string {
  const absolute = path.startsWith("/") ? path : `/${path}`;
  if (absolute.includes("#") || URL.parse(`http://x${absolute}`)?.href !== `http://x${absolute}`)
    throw new RangeError(`${healthSubject(path)} cannot be asked for: write it as it is to be sent`);
  return absolute;
}

/** Names a path in messages, such as `path "/instances"`, without its query. */
export function healthSubject(path: string): string {
  return `path ${quoted(path.split("?", 1)[0] ?? "")}`;
}

/** Such as `backup 7 of instance "x"`. */
export function subjectOf(instanceId: string, kind?: "backup" | "restore", id?: number): string {
  const instance = `instance ${quoted(instanceId)}`;
  return kind === undefined || id === undefined ? instance : `${kind} ${id} of ${instance}`;
}

function oneOf(kind: string, id: number | undefined): string {
  if (id === undefined) return "";
  if (!Number.isSafeInteger(id) || id < 1)
    throw new RangeError(
      `${String(id)} cannot be the id of a ${kind}: it is a whole number from 1 to 2^53 - 1`,
    );
  return `/${id}`;
}

function quoted(text: string): string {
  return JSON.stringify(cleanText(text, 80));
}
