/** Reads packages from package-lock.json. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { textAt, valueAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";

/** A package as it is pinned. */
export interface LockedPackage {
  readonly name: string;
  /** Folder in which it is installed, such as `node_modules/pino`. */
  readonly folder: string;
  readonly version: string;
  /** `sha512-<base64>`. */
  readonly integrity: string;
  /** SPDX expression; undefined when the package has none. */
  readonly license: string | undefined;
}

/** The packages that are installed in these folders, below the root. Throws when the lock file does not have one. */
export async function lockedPackages(folders: readonly string[]): Promise<readonly LockedPackage[]> {
  const lock = await readLock();
  return folders.map((folder) => packageIn(lock, folder));
}

/** The only one in `folder`. */
export async function lockedPackage(folder: string): Promise<LockedPackage> {
  return packageIn(await readLock(), folder);
}

/** Returns the registry's digest of it, in hexadecimal digits. */
export function sha512Of({ integrity }: Pick<LockedPackage, "integrity">): string {
  return Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
}

async function readLock(): Promise<unknown> {
  return JSON.parse(await readFile(join(repositoryRoot, "package-lock.json"), "utf8"));
}

function packageIn(lock: unknown, folder: string): LockedPackage {
  const entry = valueAt(lock, "packages", folder);
  const [version, integrity] = [textAt(entry, "version"), textAt(entry, "integrity")];
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json has no version and integrity of ${folder}; run npm install`);
  const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
  return { name, folder, version, integrity, license: textAt(entry, "license") };
}

/** Folders of the packages that files belong to, each once, by name. Files of this repository belong to none. */
export function packageFolders(files: readonly string[]): readonly string[] {
  const folders = files.flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []);
  return [...new Set(folders)].toSorted();
}
