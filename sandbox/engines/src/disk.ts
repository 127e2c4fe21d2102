/** Whether the disk has room for a build, asked before the build. */
import { execFile } from "node:child_process";
import { mkdir, stat, statfs } from "node:fs/promises";
import { promisify } from "node:util";
import { EngineError } from "./errors.ts";

const run = promisify(execFile);
const mib = 1024 * 1024;

/** A folder and what it will hold in the end. */
export interface PlannedFolder {
  readonly folder: string;
  readonly sizeMiB: number;
  /** What comes besides, whatever it holds already. Default 0. */
  readonly moreMiB?: number | undefined;
}

/**
 * Throws `EngineError` DiskFull when the folders cannot grow to their planned sizes: what they hold already counts, and folders of one
 * file system share its room.
 */
export async function requireDiskSpace(planned: readonly PlannedFolder[]): Promise<void> {
  const needs = await Promise.all(planned.map(needOf));
  for (const sharing of Map.groupBy(needs, ({ device }) => device).values()) {
    const needed = sharing.reduce((sum, { missingMiB }) => sum + missingMiB, 0);
    const free = Math.min(...sharing.map(({ freeMiB }) => freeMiB));
    if (needed <= free) continue;
    const folders = sharing.map(({ folder }) => folder).join(", ");
    throw new EngineError(
      "DiskFull",
      `building the servers needs ${gib(needed)} more on the disk of ${folders}, which has ${gib(free)} free; make room, or move the folders (GOCACHE, GOMODCACHE, KLUTCH_CACHE_DIR)`,
    );
  }
}

async function needOf({ folder, sizeMiB, moreMiB = 0 }: PlannedFolder): Promise<{
  readonly folder: string;
  readonly device: number;
  readonly freeMiB: number;
  readonly missingMiB: number;
}> {
  await mkdir(folder, { recursive: true });
  const [{ dev }, { bavail, bsize }, used] = await Promise.all([
    stat(folder),
    statfs(folder),
    usedMiB(folder),
  ]);
  const freeMiB = (bavail * bsize) / mib;
  return { folder, device: dev, freeMiB, missingMiB: Math.max(0, sizeMiB - used) + moreMiB };
}

async function usedMiB(folder: string): Promise<number> {
  // Counting goes on where a file vanishes or is closed to us, and then says so in its exit code.
  const { stdout } = await run("du", ["-sk", folder]).catch((error: unknown) => ({
    stdout: error instanceof Error && "stdout" in error ? String(error.stdout) : "",
  }));
  return (Number.parseInt(stdout, 10) || 0) / 1024;
}

function gib(sizeMiB: number): string {
  return `${(sizeMiB / 1024).toFixed(1)} GiB`;
}
