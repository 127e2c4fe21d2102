/**
 * A lock between processes that the kernel gives back when its owner dies, however it dies. Files that hold a process id cannot
 * promise that: two waiters that both see a dead owner take over from each other. Node has no flock, but SQLite locks its file.
 */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

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
