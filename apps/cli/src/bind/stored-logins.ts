/**
 * Keeps the sessions of `klutch login` in `$XDG_CONFIG_HOME/klutch/logins.yaml`, by the URL that the user typed. The file is for its owner
 * alone: one that others may read, change or replace is refused, and so is a link. A session goes to the server that issued it only.
 */
import { constants } from "node:fs";
import { chmod, type FileHandle, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { heldSessionOf, printable, type SessionPerson, sessionPersonOf, WireError } from "@klutch/api";
import { formatYaml, parseYaml } from "@klutch/kube";
import { isRecord } from "@klutch/kube-core";
import { Secret } from "@klutch/telemetry";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { checkAddress } from "../http.ts";

/** A person's session at one provider. */
export interface StoredLogin extends SessionPerson {
  /** URL of the provider, without a slash at its end. */
  readonly url: string;
  /** URL at which the backend issued it. */
  readonly sessionUrl: string;
  readonly id: string;
  readonly session: Secret<string>;
  /** RFC 3339. */
  readonly endsAt: string;
}

type Outside = Pick<CliContext, "env" | "clock">;

const kind = "Logins";
const apiVersion = "klutch.anynines.com/v1alpha1";
const longestFile = 1024 * 1024;

/** Returns the URL by which a login is kept. */
export function loginKey(url: string): string {
  checkAddress(url);
  return new URL(url).href.replace(/\/+$/, "");
}

/** Returns the path of the file. Throws `CliError` if the environment names no place. */
export function loginsPath({ env }: Pick<CliContext, "env">): string {
  const { XDG_CONFIG_HOME: configured = "", HOME: home = "" } = env;
  const base = isAbsolute(configured) ? configured : isAbsolute(home) ? join(home, ".config") : undefined;
  if (base !== undefined) return join(base, "klutch", "logins.yaml");
  throw new CliError(
    "Usage",
    "There is no place for logins: set HOME or XDG_CONFIG_HOME to an absolute path.",
  );
}

/** Returns the stored logins, also those that are over. Throws `CliError` for a file that others may read, or that holds something else. */
export async function readLogins(outside: Pick<CliContext, "env">): Promise<readonly StoredLogin[]> {
  const path = loginsPath(outside);
  const text = await readPrivate(path);
  if (text === undefined) return [];
  try {
    const root: unknown = parseYaml(text);
    if (!isRecord(root) || root["kind"] !== kind || root["apiVersion"] !== apiVersion)
      throw new WireError("kind", `must be ${kind} of ${apiVersion}`);
    const { logins } = root;
    if (!Array.isArray(logins)) throw new WireError("logins", "is not a list");
    return logins.map((one, index) => loginOf(one, `logins[${index}]`));
  } catch (cause) {
    // The parser quotes the line of a fault, which may hold a session.
    const why = cause instanceof WireError ? cause.message : "it is not YAML";
    throw new CliError(
      "Usage",
      `${printable(path)} cannot be used: ${why}. Delete it, then log in again with klutch login.`,
    );
  }
}

/** Returns the login of a URL that lasts now. */
export async function livingLogin(outside: Outside, url: string): Promise<StoredLogin | undefined> {
  const key = loginKey(url);
  return (await readLogins(outside)).find((one) => one.url === key && isAlive(outside, one));
}

/** Returns true until the session's end, by this machine's clock. The server decides. */
export function isAlive(
  { clock }: Pick<CliContext, "clock">,
  { endsAt }: Pick<StoredLogin, "endsAt">,
): boolean {
  return Date.parse(endsAt) > clock.now();
}

/** Keeps a login in the place of an earlier one of the URL; gives back the path. Logins that are over are forgotten. */
export async function storeLogin(outside: Outside, login: StoredLogin): Promise<string> {
  const others = (await readLogins(outside)).filter(({ url }) => url !== login.url);
  return writeLogins(outside, [...others, login]);
}

/** Forgets these logins. */
export async function forgetLogins(
  outside: Outside,
  gone: readonly Pick<StoredLogin, "id">[],
): Promise<void> {
  const all = await readLogins(outside);
  const kept = all.filter(({ id }) => !gone.some((one) => one.id === id));
  if (kept.length < all.length) await writeLogins(outside, kept);
}

async function writeLogins(outside: Outside, logins: readonly StoredLogin[]): Promise<string> {
  const path = loginsPath(outside);
  const alive = logins.filter((one) => isAlive(outside, one));
  const entries = alive.map(({ session, ...rest }) => ({ ...rest, session: session.reveal() }));
  const folder = dirname(path);
  try {
    if ((await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined) await chmod(folder, 0o700);
    await requirePrivateFolder(folder);
    await writeAtomically(path, formatYaml({ apiVersion, kind, logins: entries }));
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw new CliError("Usage", `${printable(path)} cannot be written (${codeOf(cause)}).`, { cause });
  }
  return path;
}

async function writeAtomically(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  try {
    await using file = await open(temporary, "wx", 0o600);
    await file.writeFile(text);
    await file.sync();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function readPrivate(path: string): Promise<string | undefined> {
  try {
    await requirePrivateFolder(dirname(path));
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    await requirePrivate(file, path);
    return await file.readFile("utf8");
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    const code = codeOf(cause);
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP") throw refused(path, "is a link", "Delete it");
    throw new CliError("Usage", `${printable(path)} cannot be read (${code}).`, { cause });
  }
}

async function requirePrivate(file: FileHandle, path: string): Promise<void> {
  const { mode, uid, size } = await file.stat();
  if ((mode & 0o077) !== 0)
    throw refused(
      path,
      `has mode ${octal(mode)}, so others may read or change it`,
      "Run chmod 600 on it; if others may have read it, run klutch logout --all after that",
    );
  if (!isOwn(uid)) throw refused(path, "belongs to another user", "Delete it");
  if (size > longestFile) throw refused(path, `is larger than ${longestFile} bytes`, "Delete it");
}

/** Refuses a folder to which others may write: they could replace the file. */
async function requirePrivateFolder(folder: string): Promise<void> {
  const { mode, uid } = await stat(folder);
  if ((mode & 0o022) !== 0)
    throw refused(
      folder,
      `has mode ${octal(mode)}, so others may replace files in it`,
      "Run chmod 700 on it",
    );
  if (!isOwn(uid))
    throw refused(folder, "belongs to another user", "Choose another place by XDG_CONFIG_HOME");
}

/** Systems without user ids have no such modes either. */
function isOwn(uid: number): boolean {
  const own = process.getuid?.();
  return own === undefined || own === uid;
}

function refused(path: string, problem: string, advice: string): CliError {
  return new CliError("Usage", `${printable(path)} ${problem}, and it is not used. ${advice}.`);
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown failure";
}

function loginOf(value: unknown, field: string): StoredLogin {
  if (!isRecord(value)) throw new WireError(field, "is not an object");
  try {
    const { session, ...held } = heldSessionOf(value);
    const addresses = { url: addressAt(value, "url"), sessionUrl: addressAt(value, "sessionUrl") };
    return { ...sessionPersonOf(value, field), ...held, ...addresses, session: new Secret(session) };
  } catch (cause) {
    if (!(cause instanceof WireError) || cause.field.startsWith(field)) throw cause;
    throw new WireError(`${field}.${cause.field}`, cause.message.slice(cause.field.length + 2));
  }
}

function addressAt(root: Readonly<Record<string, unknown>>, name: string): string {
  const value = root[name];
  if (typeof value === "string" && /^https?:\/\/[\x21-\x7e]+$/.test(value) && URL.canParse(value))
    return value;
  throw new WireError(name, "is not an address, which begins with https:// or http://");
}
