/**
 * Finds the folder that really holds a data server's data. PostgreSQL refuses to run as root, so root starts such servers as another user, who cannot
 * enter a closed home. Then the data is kept in the system's own place, and a symbolic link takes the place of the requested folder; that link is the
 * record of the choice, so a home that is opened later changes nothing.
 */
import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readlink, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { EngineError } from "./errors.ts";
import { exists } from "./paths.ts";
import { canEnter, sharedFolder, sharedPlace, unprivileged } from "./unprivileged.ts";

const run = promisify(execFile);

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
  await mkdir(dirname(wanted), { recursive: true });
  // The folder itself will belong to the server's user.
  if (unprivileged !== undefined && !(await canEnter(unprivileged, dirname(wanted)))) return moveAway(wanted);
  await mkdir(wanted, { recursive: true });
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
    await rm(place, { recursive: true, force: true });
  await rm(wanted, { recursive: true, force: true });
}

async function moveAway(wanted: string): Promise<string> {
  const place = await mkdtemp(join(await sharedPlace(...sharedHomes), "server-"));
  await chmod(place, 0o755);
  const home = join(place, "home");
  // Data of a home that was open when it was made. The command also crosses file systems.
  if (await exists(wanted)) await run("mv", [wanted, home]);
  else await mkdir(home, { mode: 0o700 });
  await symlink(home, wanted);
  return home;
}

async function linkTarget(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSymbolicLink() === true ? readlink(path) : undefined;
}
