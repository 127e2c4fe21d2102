/** Running as another user than root, and the places that such a user can enter. */
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { EngineError } from "./errors.ts";
import { exists } from "./paths.ts";

const run = promisify(execFile);

/** User and group of a process that root starts. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** `nobody` of Debian. */
const nobody: Identity = { uid: 65_534, gid: 65_534 };

/** User that servers run as if they refuse to run as root. Undefined when this process is not root. */
export const unprivileged: Identity | undefined = process.getuid?.() === 0 ? nobody : undefined;

/** Folder of root's data that other users must reach although root's home is closed to them. */
export const sharedFolder = "/var/lib/klutch";

/** Writes a file of the user that servers run as, for no other user. */
export async function writeOwned(path: string, content: string): Promise<void> {
  await writeFile(path, content, { mode: 0o600 });
  if (unprivileged !== undefined) await chown(path, unprivileged.uid, unprivileged.gid);
}

/** Returns whether that user can enter the folder, or the nearest one above it that exists. */
export async function canEnter(identity: Identity, folder: string): Promise<boolean> {
  const nearest = await nearestExisting(folder);
  try {
    await run("/bin/sh", ["-c", 'cd "$1"', "sh", nearest], { cwd: "/", ...identity });
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && typeof cause.code === "number") return false;
    throw new EngineError(
      "CannotSwitchUser",
      `cannot start a program as user ${identity.uid}, which data servers need because they do not run as root; run this as an ordinary user`,
      { cause },
    );
  }
}

/**
 * Makes a folder below the system's own, which every user can enter and only root can write to. Throws `EngineError` UnsafeFolder when
 * that is impossible.
 */
export async function sharedPlace(...names: readonly string[]): Promise<string> {
  const folder = join(sharedFolder, ...names);
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    // Made under a narrow umask, it would be closed.
    for (let part = folder; part.startsWith(sharedFolder); part = dirname(part)) await chmod(part, 0o755);
  } catch (cause) {
    throw new EngineError(
      "UnsafeFolder",
      `cannot make ${folder}, which data servers need because they do not run as root and cannot enter this home; run this as an ordinary user`,
      { cause },
    );
  }
  await requireOwnFolder(folder);
  return folder;
}

/** Throws `EngineError` UnsafeFolder unless the folder is ours and no other user may write to it: programs are run from it. */
export async function requireOwnFolder(folder: string): Promise<void> {
  const { uid, mode } = await stat(folder);
  if (uid === process.getuid?.() && (mode & 0o022) === 0) return;
  throw new EngineError(
    "UnsafeFolder",
    `${folder} belongs to another user or is writable for others; remove it and run the command again`,
  );
}

/** Returns `wanted`, which is made, or the shared place of these names when the user that servers run as could not enter it. */
export async function reachableFolder(wanted: string, ...names: readonly string[]): Promise<string> {
  await mkdir(wanted, { recursive: true });
  const isOpen = unprivileged === undefined || (await canEnter(unprivileged, wanted));
  return isOpen ? wanted : sharedPlace(...names);
}

async function nearestExisting(folder: string): Promise<string> {
  return (await exists(folder)) || dirname(folder) === folder ? folder : nearestExisting(dirname(folder));
}
