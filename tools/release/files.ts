/** Collects the files and layers of an image, always in the same order. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import type { UnpackedPackage } from "@klutch/engines";
import { type Layer, layerOf, type TarEntry } from "@klutch/oci";
import type { LockedPackage } from "./lock-file.ts";

/** A regular file; `path` is below the image's root, without a slash in front. */
export type FileEntry = Extract<TarEntry, { readonly content: Uint8Array }>;

/** A layer, and what it is made of. */
export interface BuiltLayer {
  readonly layer: Layer;
  readonly debian: readonly UnpackedPackage[];
  readonly npm: readonly LockedPackage[];
  /** Names of the libraries in it, which the layers above do without. */
  readonly libraries: readonly string[];
}

/** Builds a layer of these entries and of the folders that they are in. */
export function buildLayer(
  entries: readonly TarEntry[],
  { debian = [], npm = [], libraries = [] }: Partial<Omit<BuiltLayer, "layer">>,
): BuiltLayer {
  return { layer: layerOf(entriesOf(entries)), debian, npm, libraries };
}

/** Returns the entries of a layer, with the folders that they are in, by name. */
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

/** Lists everything below the folder that is no folder: paths with slashes, by name. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted();
}

/** Reads a library of a package below `root`, under the name that programs ask for, wherever its link leads. */
export async function libraryEntry(root: string, path: string): Promise<FileEntry> {
  const file = join(root, path);
  const link = await readlink(file).catch(() => undefined);
  const target = link === undefined ? file : join(isAbsolute(link) ? root : dirname(file), link);
  return { path, content: await readFile(target), mode: 0o755 };
}
