/** Fetches a package as the registry has it, which is what the lock file pins; also for another platform, where npm would not install it. */
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { keepFiles, type KeptFilesOptions, run, takeKept } from "@klutch/engines";
import { ReleaseError } from "./errors.ts";
import { type LockedPackage, lockedPackage, sha512Of } from "./lock-file.ts";

/** A package that was checked. */
export interface NpmArchive {
  readonly package: LockedPackage;
  /** The content of a file below the package's root. */
  read(path: string): Promise<Uint8Array>;
}

/** Sets how a package is fetched. */
export interface NpmArchiveOptions extends KeptFilesOptions {
  /** Downloads a package, such as `undici@8.0.0`, into a folder, and gives back the archive's path. Default: `npm pack`. */
  readonly download?: ((reference: string, folder: string) => Promise<string>) | undefined;
}

/**
 * Puts the archive into `folder`: the copy kept of an earlier download, else npm's, which is kept. Throws `ReleaseError` when that is
 * another than the lock file names.
 */
export async function fetchNpmArchive(
  name: string,
  folder: string,
  options: NpmArchiveOptions = {},
): Promise<NpmArchive> {
  const locked = await lockedPackage(`node_modules/${name}`);
  const digest = { algorithm: "sha512", hex: sha512Of(locked) } as const;
  let archive = join(folder, `${name}.tgz`);
  if (!(await takeKept({ path: archive, digest }, options))) {
    archive = await downloaded(locked, folder, options);
    await keepFiles([{ path: archive, digest }], options);
  }
  const tarOptions = { encoding: "buffer", maxBuffer: 512 * 1024 * 1024 } as const;
  return {
    package: locked,
    read: async (path) => (await run("tar", ["-xOzf", archive, `package/${path}`], tarOptions)).stdout,
  };
}

async function downloaded(
  { name, version, integrity }: LockedPackage,
  folder: string,
  { download = npmPack }: NpmArchiveOptions,
): Promise<string> {
  const archive = await download(`${name}@${version}`, folder);
  const digest = `sha512-${hash("sha512", await readFile(archive), "base64")}`;
  if (digest !== integrity)
    throw new ReleaseError(
      `${name}@${version} has the digest ${digest}, but package-lock.json names ${integrity}: somebody changed one of the two`,
    );
  return archive;
}

async function npmPack(reference: string, folder: string): Promise<string> {
  const { stdout } = await run("npm", ["pack", reference, "--silent", "--pack-destination", folder]);
  return join(folder, stdout.trim());
}
