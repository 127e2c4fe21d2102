/** Makes folders of the cache: each exists whole or not at all, however its making ends. */
import { mkdir, rename, rm } from "node:fs/promises";
import { acquireFileLock } from "./file-lock.ts";
import { exists } from "./paths.ts";

/** Sets how a maker of folders waits for others. */
export interface MakingOptions {
  /** Lock file, held while a process makes one of the folders. */
  readonly lock: string;
  /** Called once when another process makes them. */
  readonly onWait?: (() => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes those of the folders that are absent. `make` fills an empty folder for each, by the path that it will have. Safe to call from many
 * processes at once; what a killed one left half-made is removed.
 */
export async function makeWhole(
  folders: readonly string[],
  options: MakingOptions,
  make: (partials: ReadonlyMap<string, string>) => Promise<void>,
): Promise<void> {
  if ((await absentOf(folders)).length === 0) return;
  await using _lock = await acquireFileLock(options.lock, options);
  const absent = await absentOf(folders);
  if (absent.length === 0) return;
  const partials = new Map(absent.map((folder) => [folder, `${folder}.partial`]));
  const clear = async (): Promise<void> => {
    for (const partial of partials.values()) await rm(partial, { recursive: true, force: true });
  };
  try {
    await clear();
    for (const partial of partials.values()) await mkdir(partial, { recursive: true });
    await make(partials);
    // A rename is atomic.
    for (const [folder, partial] of partials) await rename(partial, folder);
  } finally {
    await clear();
  }
}

/** Returns those that are not there. */
export async function absentOf(paths: readonly string[]): Promise<readonly string[]> {
  const present = await Promise.all(paths.map(exists));
  return paths.filter((_, index) => present[index] !== true);
}
