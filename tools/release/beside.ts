/** What is half-made is never taken for the whole: it is written beside its place, and then put there. */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isDiskFull } from "./disk-full.ts";
import { ReleaseError } from "./errors.ts";

/**
 * Makes a folder or a file anew by `write`, which is told where to; the folder that it is in is made, too. What stood there stays until the
 * new one is whole, and nothing else is left when `write` fails. Throws `ReleaseError` when the disk is full, else what `write` throws.
 */
export async function replace(target: string, write: (path: string) => Promise<void>): Promise<void> {
  const partial = `${target}.partial`;
  const options = { recursive: true, force: true } as const;
  await rm(partial, options);
  try {
    await mkdir(dirname(target), { recursive: true });
    await write(partial);
    await rm(target, options);
    await rename(partial, target);
  } catch (cause) {
    await rm(partial, options);
    if (cause instanceof ReleaseError || !isDiskFull(cause)) throw cause;
    throw new ReleaseError(
      `${target} cannot be written: the disk is full. What was there before is as it was; make room, or name another folder with --out`,
      { cause },
    );
  }
}

/** As `replace`, of a file with this text. */
export function replaceFile(target: string, text: string): Promise<void> {
  return replace(target, (path) => writeFile(path, text));
}
