import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { after, test } from "node:test";
import { BackupFiles } from "./files.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-files-"));
after(() => rm(folder, { recursive: true, force: true }));
const files = new BackupFiles(folder);
await files.keepOnly(new Set());

test("a written dump is read again, as often as it is opened", async () => {
  const data = Buffer.alloc(300_000, "x");
  const written = await files.write(1, async (to) => {
    to.end(data);
  });
  const open = await files.source(1, written, AbortSignal.timeout(10_000));
  for (let time = 0; time < 2; time++) assert.ok((await buffer(open())).equals(data));
});

test("a dump that fails says why itself, and its file does not count", async () => {
  const fail = async (to: Writable): Promise<void> => {
    to.write("half");
    to.destroy();
    // The other side notices first.
    await new Promise(setImmediate);
    throw new Error("the server went away");
  };
  await assert.rejects(files.write(2, fail), /the server went away/);
  assert.ok(!(await readdir(folder)).includes("2.backup"));
  await files.keepOnly(new Set([1]));
  assert.deepEqual(await readdir(folder), ["1.backup"]);
});

test("a full disk ends the dump with the disk's own words", async () => {
  // Writing to this device fails so.
  await symlink("/dev/full", join(folder, "3.partial"));
  const dump = async (to: Writable): Promise<void> => {
    await pipeline(async function* () {
      for (let piece = 0; piece < 100; piece++) yield Buffer.alloc(64 * 1024, "x");
    }, to);
  };
  await assert.rejects(files.write(3, dump), { code: "ENOSPC" });
});
