/**
 * Downloaded files that are kept between runs, named after the digest of their content. So a file that is taken from there is the announced
 * one, wherever it came from, and another version has another name.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, mkdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { cacheFolder, EngineError, textOf } from "./environment.ts";
import { acquireFileLock } from "./file-lock.ts";

/** Identifies the expected content of a file. */
interface Digest {
  readonly algorithm: "sha256" | "sha512";
  /** Digits in lower case. */
  readonly hex: string;
}

/** A file and the digest that was announced for it. */
export interface DigestedFile {
  readonly path: string;
  readonly digest: Digest;
}

/** Sets the folder that keeps files. */
export interface KeptFilesOptions {
  /** Default: `KLUTCH_CACHE_DIR` or the user's cache folder. */
  readonly cacheFolder?: string | undefined;
}

/**
 * Copies the kept file with this digest to `path`; false when there is none. A damaged one is removed and does not count. The copy
 * itself is verified, so nothing changes it afterwards.
 */
export async function takeKept({ path, digest }: DigestedFile, options: KeptFilesOptions): Promise<boolean> {
  const kept = join(folderOf(options), nameOf(digest));
  try {
    await copyFile(kept, path);
    if ((await digestOfFile(path, digest.algorithm)) === digest.hex) return true;
  } catch (cause) {
    await rm(path, { force: true });
    if (textOf(cause, "code") === "ENOENT") return false;
    throw cause;
  }
  await rm(path);
  await rm(kept, { force: true });
  return false;
}

/**
 * Keeps copies of these files. Each is there whole or not at all, also when this process is killed. Safe to call from many processes at
 * once. Throws `EngineError` ChecksumMismatch for a file that is another than was announced, which is not kept, and DiskFull.
 */
export async function keepFiles(files: readonly DigestedFile[], options: KeptFilesOptions): Promise<void> {
  if (files.length === 0) return;
  const folder = folderOf(options);
  try {
    await mkdir(folder, { recursive: true });
    await using _lock = await acquireFileLock(join(folder, "mutex"));
    for (const { path, digest } of files) {
      const kept = join(folder, nameOf(digest));
      const partial = `${kept}.partial`;
      try {
        await requireDigest(path, digest, "was announced");
        await copyFile(path, partial);
        await rename(partial, kept);
      } finally {
        await rm(partial, { force: true });
      }
    }
  } catch (cause) {
    if (!["ENOSPC", "EDQUOT"].includes(textOf(cause, "code"))) throw cause;
    throw new EngineError(
      "DiskFull",
      `${folder}, where downloads are kept, cannot be written: the disk is full. Make room, or name another folder with KLUTCH_CACHE_DIR`,
      { cause },
    );
  }
}

function folderOf(options: KeptFilesOptions): string {
  return join(options.cacheFolder ?? cacheFolder, "downloads");
}

function nameOf({ algorithm, hex }: Digest): string {
  return `${algorithm}-${hex}`;
}

/** Returns the digest of a file's content in lower-case hex. Throws what the system says when it cannot be read. */
export async function digestOfFile(path: string, algorithm: Digest["algorithm"]): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** Throws `EngineError` ChecksumMismatch for a file of other content. `claim` ends the clause "but <digest> …". */
export async function requireDigest(path: string, { algorithm, hex }: Digest, claim: string): Promise<void> {
  const found = await digestOfFile(path, algorithm);
  if (found === hex) return;
  const problem = `${basename(path)} has the ${algorithm} digest ${found}, but ${hex} ${claim}; not using it`;
  throw new EngineError("ChecksumMismatch", problem);
}
