/**
 * The boundary where a manager's answers become typed. What a call cannot do without (an id, a state) must be right, else the answer is
 * refused with the field's name; what only describes (times, sizes, texts) is left out when it has no meaning. Fields that are not known
 * are not looked at. No error quotes a value: it may be anything.
 */
import { type Clean, type HttpResponse, isJsonType, longestText, parsedJson } from "@klutch/http-client";
import { isRecord } from "@klutch/kube-core";
import type { CallAbout } from "./call.ts";
import { BackupManagerTransportError, type ErrorAnswer } from "./errors.ts";
import type { Accepted, Backup, CreatedBackup, CreatedRestore, InstanceConfig, Restore } from "./types.ts";

type Json = Readonly<Record<string, unknown>>;

/** Context of an answer: its call, and the way to clean its texts. */
export interface Context extends CallAbout {
  /** HTTP status of the answer. */
  readonly status: number;
  readonly clean: Clean;
}

/** The longest `error`, `backup_type` or state that is taken, in characters. */
const longestWord = 100;

/** Decodes the answer to a create. Without an id the backup is unknown; then the answer is as good as lost. */
export function decodeCreatedBackup(response: HttpResponse, context: Context): CreatedBackup {
  const body = objectOf(response, context);
  return { backupId: idOf(body, "id", context), message: textOf(body, "message", context) };
}

/** Decodes the answer to a restore. Without an id the restore is unknown; then the answer is as good as lost. */
export function decodeCreatedRestore(response: HttpResponse, context: Context): CreatedRestore {
  return { restoreId: idOf(objectOf(response, context), "id", context) };
}

/** Refuses an answer about another backup than `wanted`. */
export function decodeBackup(response: HttpResponse, wanted: number, context: Context): Backup {
  const backup = backupOf(objectOf(response, context), "", context);
  if (backup.id !== wanted) throw garbage(context, `the answer tells of backup ${backup.id}`);
  return backup;
}

/** Refuses an answer about another restore than `wanted`. */
export function decodeRestore(response: HttpResponse, wanted: number, context: Context): Restore {
  const restore = restoreOf(objectOf(response, context), "", context);
  if (restore.id !== wanted) throw garbage(context, `the answer tells of restore ${restore.id}`);
  return restore;
}

/** Refuses the whole list when one entry is wrong: a list with a gap hides what a lost answer has created. */
export function decodeBackups(response: HttpResponse, context: Context): readonly Backup[] {
  return listOf(response, context).map((item, index) => backupOf(item, `[${index}]`, context));
}

/** Refuses the whole list when one entry is wrong, as {@link decodeBackups} does. */
export function decodeRestores(response: HttpResponse, context: Context): readonly Restore[] {
  return listOf(response, context).map((item, index) => restoreOf(item, `[${index}]`, context));
}

/** No field is needed; each that has no meaning is left out. */
export function decodeInstanceConfig(response: HttpResponse, context: Context): InstanceConfig {
  const body = objectOf(response, context);
  const { exclude_from_auto_backup: isExcluded } = body;
  return present({
    minBackupCount: wholeNumber(body["min_backup_count"]),
    retentionDays: wholeNumber(body["retention_time"]),
    minEncryptionKeyLength: wholeNumber(body["min_encryption_key_length"]),
    excludeFromAutoBackup: typeof isExcluded === "boolean" ? isExcluded : undefined,
    backupType: textOf(body, "backup_type", context, longestWord) || undefined,
  });
}

/** An empty body is fine; a page or a broken body is not, for then it was not the manager that answered. */
export function decodeAccepted(response: HttpResponse, context: Context): Accepted {
  const body = response.text.trim() === "" ? {} : objectOf(response, context);
  return { message: textOf(body, "message", context) };
}

/** Decodes an answer that is not 2xx. Only an object with `error` or `description`, sent as JSON, comes from the manager itself. */
export function decodeError(response: HttpResponse, { clean }: Context): ErrorAnswer {
  const { status, text, contentType, retryAfterMs } = response;
  const body = isJsonType(contentType) ? parsedJson(text) : undefined;
  const isOwn =
    isRecord(body) && (typeof body["error"] === "string" || typeof body["description"] === "string");
  const word = (name: string, limit: number): string => (isOwn ? textOf(body, name, { clean }, limit) : "");
  return {
    status,
    error: word("error", longestWord),
    description: word("description", longestText),
    own: isOwn,
    retryAfterMs,
  };
}

function backupOf(value: unknown, place: string, context: Context): Backup {
  const body = recordOf(value, place, context);
  return {
    id: idOf(body, "id", context, place),
    state: stateOf(body, context, place),
    ...present({ ...sizeOf(body["size"]), ...timesOf(body) }),
    downloadable: body["downloadable"] === true,
  };
}

/** A manager that has no size yet sends null, or nothing. */
function sizeOf(value: unknown): Pick<Backup, "size" | "sizeIsMalformed"> {
  const size = wholeNumber(value);
  const isMalformed = size === undefined && value !== undefined && value !== null;
  return { size, sizeIsMalformed: isMalformed ? true : undefined };
}

function restoreOf(value: unknown, place: string, context: Context): Restore {
  const body = recordOf(value, place, context);
  return {
    id: idOf(body, "id", context, place),
    state: stateOf(body, context, place),
    ...present({ backupId: positive(body["backup_id"]), ...timesOf(body) }),
  };
}

function timesOf(body: Json): Pick<Backup, "triggeredAtMs" | "finishedAtMs"> {
  return { triggeredAtMs: timeOf(body["triggered_at"]), finishedAtMs: timeOf(body["finished_at"]) };
}

const rfc3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** A time with its zone, after 1970; the zero time of Go and a time without a zone have no meaning. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== "string" || !rfc3339.test(value)) return undefined;
  const time = Date.parse(value.toUpperCase().replace(" ", "T"));
  return Number.isSafeInteger(time) && time > 0 ? time : undefined;
}

/** Zero or more, exact, as a number or as digits in a text. */
function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** Returns a whole number from 1; a manager that forgot the id sends zero. */
function positive(value: unknown): number | undefined {
  return wholeNumber(value) || undefined;
}

function idOf(body: Json, name: string, context: Context, place = ""): number {
  const id = positive(body[name]);
  if (id === undefined)
    throw garbage(
      context,
      `${place}${place === "" ? "" : "."}${name} is missing or no id (a whole number from 1 to 2^53 - 1)`,
    );
  return id;
}

function stateOf(body: Json, context: Context, place: string): string {
  const state = textOf(body, "status", context, longestWord);
  if (state === "")
    throw garbage(context, `${place}${place === "" ? "" : "."}status is missing, empty or no text`);
  return state;
}

/** A text field, made safe; empty when it is absent or something else. */
function textOf(
  body: Json,
  name: string,
  { clean }: Pick<Context, "clean">,
  limit: number = longestText,
): string {
  const value = body[name];
  return typeof value === "string" ? clean(value, limit) : "";
}

function objectOf(response: HttpResponse, context: Context): Json {
  return recordOf(jsonOf(response, context), "", context);
}

function recordOf(value: unknown, place: string, context: Context): Json {
  if (!isRecord(value))
    throw garbage(context, `${place === "" ? "the body" : place} is ${kindOf(value)}, not an object`);
  return value;
}

function listOf(response: HttpResponse, context: Context): readonly unknown[] {
  const value = jsonOf(response, context);
  if (!Array.isArray(value)) throw garbage(context, `the body is ${kindOf(value)}, not a list`);
  return value;
}

function jsonOf({ text, contentType }: HttpResponse, context: Context): unknown {
  if (text.trim() === "") throw garbage(context, "the body is empty");
  if (contentType !== "" && !isJsonType(contentType)) {
    const type = JSON.stringify(context.clean(contentType, 60));
    const problem = `the answer (HTTP ${context.status}) is of type ${type}, not JSON; something else than a backup manager may have sent it. Check url and what stands before the manager.`;
    throw new BackupManagerTransportError("ContentType", context, problem);
  }
  const value = parsedJson(text);
  if (value === undefined) throw garbage(context, "the body is no JSON, or only the half of it");
  return value;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return isRecord(value) ? "an object" : `a ${typeof value}`;
}

/** Returns the object without its undefined fields. */
function present<T extends object>(fields: T): Partial<T>;
function present(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function garbage(context: Context, problem: string): BackupManagerTransportError {
  const sentence = `the answer (HTTP ${context.status}) cannot be used: ${problem}. Check that url leads to a backup manager, and look at its log.`;
  return new BackupManagerTransportError("Garbage", context, sentence);
}
