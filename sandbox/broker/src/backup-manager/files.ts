/**
 * Backups on disk: one encrypted file for each, named by its number. A file counts once it has its final name, and it gets that only when
 * all of it is on the disk. Which files should be there is the store's to know.
 */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, pipeline as pipe, type Readable, Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { DumpSource } from "./dumps.ts";
import { deriveKey, opening, sealing } from "./sealing.ts";

/** A file that was written. */
export interface WrittenFile {
  /** In bytes, as it lies on the disk. */
  readonly size: number;
  /** Of the bytes on the disk, in hex. */
  readonly sha256: string;
}

/** The file of a backup is not what was written; `message` says so to people. */
export class FileError extends Error {
  constructor(id: number, problem: string) {
    super(`the file of backup ${id} ${problem}`);
    this.name = "FileError";
  }
}

const begin = Buffer.from("klutch backup 1\n");
const saltBytes = 32;
const headBytes = begin.length + saltBytes;
const backupFile = /^(\d+)\.(backup|partial)$/;

/** Files of one folder, which belongs to one backup manager. */
export class BackupFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** Numbers of the backups that have a file, whole or half. */
  async ids(): Promise<readonly number[]> {
    const names = await readdir(this.#folder);
    const ids = names.flatMap((name) => {
      const id = backupFile.exec(name)?.[1];
      return id === undefined ? [] : [Number(id)];
    });
    return [...new Set(ids)];
  }

  /** Writes what `produce` writes, encrypted with a key that follows from `secret`. Throws when it is not whole; then nothing counts. */
  async write(
    id: number,
    secret: string,
    produce: (to: Writable) => Promise<void>,
    beforeRename: () => Promise<void> = async () => undefined,
  ): Promise<WrittenFile> {
    const partial = this.#path(id, "partial");
    const salt = randomBytes(saltBytes);
    const meter = new Meter();
    meter.write(Buffer.concat([begin, salt]));
    const clear = new PassThrough();
    const writing = pipeline(
      clear,
      sealing(keyOf(secret, salt, id)),
      meter,
      // Flushed to the disk before it is closed.
      createWriteStream(partial, { mode: 0o600, flush: true }),
    );
    await bothOf(produce(clear), writing);
    await beforeRename();
    await rename(partial, this.#path(id, "backup"));
    await this.#sync();
    return meter.result();
  }

  /** Checks the whole file against what was written, and gives back how to read it. Throws `FileError`. */
  async source(id: number, secret: string, written: WrittenFile, signal: AbortSignal): Promise<DumpSource> {
    const path = this.#path(id, "backup");
    const { size } = await stat(path).catch(() => ({ size: undefined }));
    if (size === undefined) throw new FileError(id, "is gone");
    if (size !== written.size)
      throw new FileError(id, `has ${size} bytes instead of the ${written.size} that were written`);
    const head = await checkedHead(path, id, written, signal);
    const key = keyOf(secret, head.subarray(begin.length), id);
    return { open: () => decrypted(path, key) };
  }

  /** Removes what there is of a backup's file. */
  async remove(id: number): Promise<void> {
    for (const kind of ["partial", "backup"] as const) await rm(this.#path(id, kind), { force: true });
  }

  #path(id: number, kind: "backup" | "partial"): string {
    return join(this.#folder, `${id}.${kind}`);
  }

  /** The name itself must survive a power failure, too. */
  async #sync(): Promise<void> {
    await using folder = await open(this.#folder, "r");
    await folder.sync();
  }
}

function keyOf(secret: string, salt: Buffer, id: number): Buffer {
  return deriveKey(secret, salt, `klutch backup ${id}`);
}

/** Waits for both, and throws what went wrong first: that a stream is closed then is only how the other one learns of it. */
async function bothOf(first: Promise<void>, second: Promise<void>): Promise<void> {
  const ended = await Promise.allSettled([first, second]);
  const errors = ended.flatMap((end): unknown[] => (end.status === "rejected" ? [end.reason] : []));
  if (errors.length > 0) throw errors.find((error) => !isClosedStream(error)) ?? errors[0];
}

function isClosedStream(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";
}

async function checkedHead(
  path: string,
  id: number,
  written: WrittenFile,
  signal: AbortSignal,
): Promise<Buffer> {
  const hash = createHash("sha256");
  let head = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024, signal })) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    hash.update(bytes);
    if (head.length < headBytes) head = Buffer.concat([head, bytes]).subarray(0, headBytes);
  }
  if (hash.digest("hex") !== written.sha256)
    throw new FileError(id, "is not what was written: its checksum is another one");
  if (!head.subarray(0, begin.length).equals(begin) || head.length < headBytes)
    throw new FileError(id, "is no backup");
  return head;
}

/** Whoever reads destroys it when it has enough; then the file is closed, too. */
function decrypted(path: string, key: Buffer): Readable {
  return pipe(createReadStream(path, { start: headBytes }), opening(key), () => undefined);
}

/** Counts and sums what passes. */
class Meter extends Transform {
  readonly #hash = createHash("sha256");
  #size = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#hash.update(chunk);
    this.#size += chunk.length;
    this.push(chunk);
    done();
  }

  /** Once; when all has passed. */
  result(): WrittenFile {
    return { size: this.#size, sha256: this.#hash.digest("hex") };
  }
}
