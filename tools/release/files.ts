/** Files as they will stand in an image: collected from folders, always in the same order. */
import { readFile, readlink } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { TarEntry } from "@klutch/oci";

/** A regular file; `path` is below the image's root, without a slash in front. */
export interface FileEntry {
  readonly path: string;
  readonly content: Uint8Array;
  /** Permission bits. Default 0o644. */
  readonly mode?: number;
}

/** The entries of a layer, with the folders that they are in, by name. */
export function entriesOf(entries: readonly TarEntry[]): readonly TarEntry[] {
  const all = new Map<string, TarEntry>();
  for (const { path } of entries) {
    const parts = path.split("/").slice(0, -1);
    for (const index of parts.keys()) {
      const folder = parts.slice(0, index + 1).join("/");
      all.set(folder, { path: folder, folder: true });
    }
  }
  for (const entry of entries) all.set(entry.path, entry);
  return [...all.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** A library of a package below `root`, under the name that programs ask for, whatever the file is called that the link leads to. */
export async function libraryEntry(root: string, path: string): Promise<FileEntry> {
  const file = join(root, path);
  const link = await readlink(file).catch(() => undefined);
  const target = link === undefined ? file : join(isAbsolute(link) ? root : dirname(file), link);
  return { path, content: await readFile(target), mode: 0o755 };
}
