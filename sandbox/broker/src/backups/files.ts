/**
 * Stores backups on disk, one file for each, named by its number. A file gets its final name when all of it is on the disk. The store knows
 * which files should exist.
 */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** A file that was written. */
export interface WrittenFile {
  /** Bytes. */
  readonly size: number;
  /** Checksum in hex. */
  readonly sha256: string;
}

const backupFile = /^(\d+)\.(?:backup|partial)$/;

/** Files of one folder, which belongs to one backup manager. */
export class BackupFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes the folder, and removes the files of all but these backups. */
  async keepOnly(ids: ReadonlySet<number>): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#folder)) {
      const id = Number(backupFile.exec(name)?.[1]);
      if (Number.isInteger(id) && !ids.has(id)) await this.remove(id);
    }
  }

  /** Writes the output of `produce`. When it throws, there is no backup. */
  async write(
    id: number,
    produce: (to: Writable) => Promise<void>,
    beforeRename: () => Promise<void> = async () => undefined,
  ): Promise<WrittenFile> {
    const partial = this.#path(id, "partial");
    const hash = createHash("sha256");
    let size = 0;
    const meter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        size += chunk.length;
        done(null, chunk);
      },
    });
    const writing = pipeline(meter, createWriteStream(partial, { mode: 0o600, flush: true }));
    const ended = await Promise.allSettled([produce(meter).finally(() => meter.end()), writing]);
    const errors = ended.flatMap((end): unknown[] => (end.status === "rejected" ? [end.reason] : []));
    // A closed stream is only how one side learns of the other side's error.
    if (errors.length > 0) throw errors.find((error) => !isClosedStream(error)) ?? errors[0];
    await beforeRename();
    await rename(partial, this.#path(id, "backup"));
    await using folder = await open(this.#folder, "r");
    await folder.sync();
    return { size, sha256: hash.digest("hex") };
  }

  /** Compares the whole file with what was written, and returns how to read it. Throws when they differ. */
  async source(id: number, written: WrittenFile, signal: AbortSignal): Promise<() => Readable> {
    const path = this.#path(id, "backup");
    const { size } = await stat(path).catch(() => ({ size: undefined }));
    if (size === undefined) throw new Error(`the file of backup ${id} is gone`);
    if (size !== written.size)
      throw new Error(
        `the file of backup ${id} has ${size} bytes instead of the ${written.size} that were written`,
      );
    const hash = createHash("sha256");
    await pipeline(createReadStream(path, { highWaterMark: 256 * 1024 }), hash, { signal });
    if (hash.digest("hex") !== written.sha256)
      throw new Error(`the file of backup ${id} was changed: its checksum is another one`);
    return () => createReadStream(path);
  }

  /** Removes the files of a backup. */
  async remove(id: number): Promise<void> {
    for (const kind of ["partial", "backup"] as const) await rm(this.#path(id, kind), { force: true });
  }

  #path(id: number, kind: "backup" | "partial"): string {
    return join(this.#folder, `${id}.${kind}`);
  }
}

function isClosedStream(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";
}
