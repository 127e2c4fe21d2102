/**
 * Runs data servers as another user when root starts them, because PostgreSQL refuses to run as root, and finds the folder that really holds a
 * server's data. Such a user cannot enter a closed home. Then the data is kept in the system's own place, and a symbolic link takes the place of the
 * requested folder; that link is the record of the choice, so a home that is opened later changes nothing.
 */
import * as fs from "node:fs/promises";
import { dirname, join } from "node:path";
import { EngineError, exists, run } from "./environment.ts";

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
const sharedFolder = "/var/lib/klutch";

/** Writes a file of the user that servers run as, for no other user. */
export async function writeOwned(path: string, content: string): Promise<void> {
  await fs.writeFile(path, content, { mode: 0o600 });
  if (unprivileged !== undefined) await fs.chown(path, unprivileged.uid, unprivileged.gid);
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
async function sharedPlace(...names: readonly string[]): Promise<string> {
  const folder = join(sharedFolder, ...names);
  try {
    await fs.mkdir(folder, { recursive: true, mode: 0o755 });
    // Made under a narrow umask, it would be closed.
    for (let part = folder; part.startsWith(sharedFolder); part = dirname(part)) await fs.chmod(part, 0o755);
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
  const { uid, mode } = await fs.stat(folder);
  if (uid === process.getuid?.() && (mode & 0o022) === 0) return;
  const problem = `${folder} belongs to another user or is writable for others; remove it and run the command again`;
  throw new EngineError("UnsafeFolder", problem);
}

/** Returns `wanted`, which is made, or the shared place of these names when the user that servers run as could not enter it. */
export async function reachableFolder(wanted: string, ...names: readonly string[]): Promise<string> {
  await fs.mkdir(wanted, { recursive: true });
  const isOpen = unprivileged === undefined || (await canEnter(unprivileged, wanted));
  return isOpen ? wanted : sharedPlace(...names);
}

async function nearestExisting(folder: string): Promise<string> {
  return (await exists(folder)) || dirname(folder) === folder ? folder : nearestExisting(dirname(folder));
}

/** The folder that holds the data of `wanted`; made if it is not there. Throws `EngineError` DataMissing when kept data is gone. */
export async function dataHome(wanted: string): Promise<string> {
  const linked = await linkTarget(wanted);
  if (linked !== undefined) {
    if (await exists(linked)) return linked;
    throw new EngineError(
      "DataMissing",
      `${wanted} points to ${linked}, where the server's data was kept, and that is gone. Put it back, or remove ${wanted} to start with an empty server`,
    );
  }
  await fs.mkdir(dirname(wanted), { recursive: true });
  // The folder itself will belong to the server's user.
  if (unprivileged !== undefined && !(await canEnter(unprivileged, dirname(wanted)))) return moveAway(wanted);
  await fs.mkdir(wanted, { recursive: true });
  return wanted;
}

/** Homes are found by this name, which is of when only PostgreSQL had one. */
const sharedHomes = ["postgres", "data"] as const;

/** Removes a data folder, wherever its data is. */
export async function removeDataHome(wanted: string): Promise<void> {
  const linked = await linkTarget(wanted);
  const [, place] = /^(.*\/server-[^/]+)\/home$/.exec(linked ?? "") ?? [];
  // Removes only folders of `moveAway`: a link may have been changed, and its target must then stay.
  if (place !== undefined && dirname(place) === join(sharedFolder, ...sharedHomes))
    await fs.rm(place, { recursive: true, force: true });
  await fs.rm(wanted, { recursive: true, force: true });
}

async function moveAway(wanted: string): Promise<string> {
  const place = await fs.mkdtemp(join(await sharedPlace(...sharedHomes), "server-"));
  await fs.chmod(place, 0o755);
  const home = join(place, "home");
  // Data of a home that was open when it was made. The command also crosses file systems.
  if (await exists(wanted)) await run("mv", [wanted, home]);
  else await fs.mkdir(home, { mode: 0o700 });
  await fs.symlink(home, wanted);
  return home;
}

async function linkTarget(path: string): Promise<string | undefined> {
  const found = await fs.lstat(path).catch(() => undefined);
  return found?.isSymbolicLink() === true ? fs.readlink(path) : undefined;
}
