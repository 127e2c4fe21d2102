/** What package-lock.json says of packages. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { textAt, valueAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";

/** A package as it is pinned. */
export interface LockedPackage {
  readonly name: string;
  /** Where it is installed, such as `node_modules/pino`. */
  readonly folder: string;
  readonly version: string;
  /** `sha512-<base64>`. */
  readonly integrity: string;
  /** SPDX expression; undefined when the package says none. */
  readonly license: string | undefined;
}

/** The package that is installed in `folder`, below the root. Throws when the lock file does not have it. */
export async function lockedPackage(folder: string): Promise<LockedPackage> {
  const lock: unknown = JSON.parse(await readFile(join(repositoryRoot, "package-lock.json"), "utf8"));
  const entry = valueAt(lock, "packages", folder);
  const [version, integrity] = [textAt(entry, "version"), textAt(entry, "integrity")];
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json has no version and integrity of ${folder}; run npm install`);
  const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
  return { name, folder, version, integrity, license: textAt(entry, "license") };
}

/** Folders of the packages that files belong to, each once, by name. Files of this repository belong to none. */
export function packageFolders(files: readonly string[]): readonly string[] {
  const folders = files.flatMap((file) => {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
    return found === undefined ? [] : [found];
  });
  return [...new Set(folders)].toSorted();
}
