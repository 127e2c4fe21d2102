/** Reports full disks with the folder, and never mistakes half-written files for whole ones. */
import { mkdir, mkdtemp, rename, rm, statfs, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { textAt, valueAt } from "@klutch/kube-core";
import { ReleaseError } from "./errors.ts";

/** npm ends with the number of the system's error when it cannot write its result, and says nothing when it is to be silent. */
const npmExitCode = 256 - constants.errno.ENOSPC;
const removal = { recursive: true, force: true } as const;

/** Returns true if the error says that a disk is full, in the words of the system, of apt, or of another program that was run. */
export function isDiskFull(error: unknown): boolean {
  const said = ["message", "stdout", "stderr"].map((field) => textAt(error, field));
  return (
    ["ENOSPC", "EDQUOT", npmExitCode].some((code) => code === valueAt(error, "code")) ||
    /ENOSPC|EDQUOT|no space left on device|quota exceeded|enough free space/i.test(said.join("\n"))
  );
}

/**
 * Replaces a folder or a file by what `write` puts at the path it gets; missing parent folders are made. The old one stays until the
 * new one is whole, and a failing `write` leaves nothing else behind. Throws `ReleaseError` when the disk is full, else what `write` throws.
 */
export async function replace(target: string, write: (path: string) => Promise<void>): Promise<void> {
  const partial = `${target}.partial`;
  const words = `${target} cannot be written: the disk is full. What was there before is as it was; make room, or name another folder with --out`;
  await rm(partial, removal);
  try {
    await blaming(words, async () => {
      await mkdir(dirname(target), { recursive: true });
      await write(partial);
      await rm(target, removal);
      await rename(partial, target);
    });
  } finally {
    await rm(partial, removal);
  }
}

/** Replaces a file by one with this text, like `replace`. */
export function replaceFile(target: string, text: string): Promise<void> {
  return replace(target, (path) => writeFile(path, text));
}

/**
 * Makes a folder for temporary files, and removes it when `use` is done. Throws `ReleaseError` that names the temporary folder
 * when that has less room than `neededMiB`, because not every program ends on a full disk, and when it is full later on; else what
 * `use` throws.
 */
export async function inTemporaryFolder<T>(
  name: string,
  neededMiB: number,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const { bavail, bsize } = await statfs(tmpdir());
  const freeMiB = Math.floor((bavail * bsize) / 2 ** 20);
  if (freeMiB < neededMiB)
    throw new ReleaseError(
      `the temporary folder ${tmpdir()} has ${freeMiB} MiB free, of which a release needs ${neededMiB} while it is put together; ${advice}`,
    );
  const folder = await mkdtemp(join(tmpdir(), `klutch-${name}-`));
  try {
    return await blamingTemporaryFolder(() => use(folder));
  } finally {
    await rm(folder, removal);
  }
}

const advice = "make room in it, or name another one with the environment variable TMPDIR";

/** Runs work there whose caller writes elsewhere: a full disk is not the caller's. */
export function blamingTemporaryFolder<T>(work: () => Promise<T>): Promise<T> {
  const words = `the temporary folder ${tmpdir()}, in which a release is put together, is full; ${advice}`;
  return blaming(words, work);
}

/** Throws `ReleaseError` with these words when the work finds a full disk, unless it has already blamed another one. */
async function blaming<T>(words: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ReleaseError || !isDiskFull(cause)) throw cause;
    throw new ReleaseError(words, { cause });
  }
}
