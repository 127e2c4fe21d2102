/** Measures what a server keeps on the disk. No quota is needed for it, so it works for every user on every file system. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const mib = 1024 * 1024;
/** What was full has room again when it is below this part of its limit. */
const roomyPart = 0.9;
/** A server that uses more than this part of its limit is measured more often, and makes room. */
const watchfulPart = 0.5;

/** What the folder takes on the disk, in bytes. Files that go meanwhile do not count. */
export async function sizeOf(folder: string): Promise<number> {
  let size = 0;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) size += await sizeOf(path);
    else size += ((await lstat(path).catch(() => undefined))?.blocks ?? 0) * 512;
  }
  return size;
}

/** Whether it counts as full now, when it did or did not before. Pure. */
export function isFull(usedBytes: number, diskMiB: number, wasFull: boolean): boolean {
  return usedBytes > diskMiB * mib * (wasFull ? roomyPart : 1);
}

/** Measures until the signal aborts, and tells each change. A change that could not be told is told again. */
export async function watchDisk(
  options: {
    readonly folder: string;
    readonly diskMiB: number;
    /** Default 5000. */
    readonly everyMs?: number | undefined;
    readonly signal: AbortSignal;
  },
  server: {
    readonly setFull: (isFull: boolean) => Promise<void>;
    /** Asked at each measurement while much of the disk is used. */
    readonly makeRoom: () => Promise<void>;
  },
): Promise<void> {
  const { folder, diskMiB, everyMs = 5_000, signal } = options;
  for (let wasFull = false; !signal.aborted; ) {
    const used = await sizeOf(folder);
    const isWatchful = used > diskMiB * mib * watchfulPart;
    const now = isFull(used, diskMiB, wasFull);
    try {
      if (now !== wasFull) await server.setFull(now);
      wasFull = now;
      if (isWatchful) await server.makeRoom();
    } catch {
      // It is told and asked again.
    }
    const waitMs = isWatchful ? everyMs / 5 : everyMs;
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}
