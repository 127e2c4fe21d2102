/** A package as the registry has it, which is what the lock file pins; also for another platform, where npm would not install it. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ReleaseError } from "./errors.ts";
import { type LockedPackage, lockedPackage } from "./lock-file.ts";

const run = promisify(execFile);

/** A package that was checked. */
export interface NpmArchive {
  readonly package: LockedPackage;
  /** The content of a file below the package's root. */
  read(path: string): Promise<Uint8Array>;
}

/** Downloads a package of npm, such as `undici@8.0.0`, into a folder, and gives back the archive's path. */
export type Download = (reference: string, folder: string) => Promise<string>;

/** Downloads the package into `folder` and checks it. Throws `ReleaseError` when it is another than the lock file names. */
export async function fetchNpmArchive(
  name: string,
  folder: string,
  download: Download = npmPack,
): Promise<NpmArchive> {
  const locked = await lockedPackage(`node_modules/${name}`);
  const { version, integrity } = locked;
  const archive = await download(`${name}@${version}`, folder);
  const digest = `sha512-${createHash("sha512")
    .update(await readFile(archive))
    .digest("base64")}`;
  if (digest !== integrity)
    throw new ReleaseError(
      `${name}@${version} has the digest ${digest}, but package-lock.json names ${integrity}: somebody changed one of the two`,
    );
  const options = { encoding: "buffer", maxBuffer: 512 * 1024 * 1024 } as const;
  return {
    package: locked,
    read: async (path) => (await run("tar", ["-xOzf", archive, `package/${path}`], options)).stdout,
  };
}

const npmPack: Download = async (reference, folder) => {
  const { stdout } = await run("npm", ["pack", reference, "--silent", "--pack-destination", folder]);
  return join(folder, stdout.trim());
};
