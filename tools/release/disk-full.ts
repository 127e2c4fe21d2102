/** Errors of full disks, told with the folder that is full. */
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { ReleaseError } from "./errors.ts";

/** npm ends with the number of the system's error when it cannot write its result, and says nothing when it is to be silent. */
const npmExitCode = 256 - constants.errno.ENOSPC;

/** Whether it says that a disk is full, in the words of the system, of apt, or of another program that was run. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? error.code : undefined;
  const said = ["stdout" in error && error.stdout, "stderr" in error && error.stderr];
  return (
    ["ENOSPC", "EDQUOT", npmExitCode].some((each) => each === code) ||
    /ENOSPC|EDQUOT|no space left on device|quota exceeded|enough free space/i.test(
      [error.message, ...said.map(String)].join("\n"),
    )
  );
}

/**
 * Makes a folder for what is needed meanwhile, and removes it when `use` is done. Throws `ReleaseError` that names the temporary folder
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
    await rm(folder, { recursive: true, force: true });
  }
}

const advice = "make room in it, or name another one with the environment variable TMPDIR";

/** For work there whose caller writes elsewhere: a full disk is not the caller's. */
export async function blamingTemporaryFolder<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ReleaseError || !isDiskFull(cause)) throw cause;
    throw new ReleaseError(
      `the temporary folder ${tmpdir()}, in which a release is put together, is full; ${advice}`,
      { cause },
    );
  }
}
