/**
 * A lock between processes that the kernel gives back when its owner dies, however it dies, and folders of the cache that are made under it: each
 * exists whole or not at all. Files that hold a process id cannot promise that: two waiters that both see a dead owner take over from each other. Node
 * has no flock, but SQLite locks its file.
 */
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { exists } from "./environment.ts";

const firstPollMs = 5;
const longestPollMs = 200;
const sqliteBusy = 5;

/**
 * Waits until the lock is ours and returns its release. Calls `onWait` once when it must wait. The file stays; removing it would let two
 * processes hold "the same" lock. Does not order waiters.
 */
export async function acquireFileLock(
  path: string,
  options: {
    readonly onWait?: (() => void) | undefined;
    readonly signal?: AbortSignal | undefined;
  } = {},
): Promise<AsyncDisposable> {
  const { onWait, signal } = options;
  for (let pollMs = firstPollMs; ; pollMs = Math.min(2 * pollMs, longestPollMs)) {
    signal?.throwIfAborted();
    const lock = await tryFileLock(path);
    if (lock !== undefined) return lock;
    if (pollMs === firstPollMs) onWait?.();
    await sleep(pollMs, undefined, signal === undefined ? {} : { signal });
  }
}

/** Returns the release of the lock, or undefined when another holder, also one in this process, has it. */
export async function tryFileLock(path: string): Promise<AsyncDisposable | undefined> {
  await mkdir(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return undefined;
    throw new Error(`cannot lock ${path}: ${String(error)}`, { cause: error });
  }
  return {
    [Symbol.asyncDispose]: () => {
      if (database.isOpen) database.close();
      return Promise.resolve();
    },
  };
}

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
  const present = await Promise.all(paths.map((path) => exists(path)));
  return paths.filter((_, index) => present[index] !== true);
}
