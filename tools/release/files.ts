/** Files as they will stand in an image: collected from folders, always in the same order. */
import type { TarEntry } from "@klutch/oci";

/** A regular file; `path` is below the image's root, without a slash in front. */
export interface ImageFile {
  readonly path: string;
  readonly content: Uint8Array;
  /** Permission bits. Default 0o644. */
  readonly mode?: number;
}

/** The entries of a layer: the folders of all files first, everything by name. */
export function entriesOf(
  files: readonly ImageFile[],
  folders: readonly TarEntry[] = [],
): readonly TarEntry[] {
  const all = new Map<string, TarEntry>();
  for (const { path } of files) {
    const parts = path.split("/").slice(0, -1);
    for (const index of parts.keys()) {
      const folder = parts.slice(0, index + 1).join("/");
      all.set(folder, { path: folder, folder: true });
    }
  }
  for (const entry of [...folders, ...files]) all.set(entry.path, entry);
  return [...all.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
