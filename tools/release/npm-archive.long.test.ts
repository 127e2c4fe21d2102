/** A package of npm's real registry. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isDiskFull } from "./disk-full.ts";
import { fetchNpmArchive } from "./npm-archive.ts";
import { smallDisk } from "./testing/small-disk.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-npm-archive-"));
after(() => rm(folder, { recursive: true, force: true }));
const cacheFolder = join(folder, "cache");
const work = (): Promise<string> => mkdtemp(join(folder, "work-"));

/** Reads the manifest of a small package of the lock file; without `download` npm fetches it. */
async function manifest(download?: () => Promise<string>): Promise<unknown> {
  const archive = await fetchNpmArchive("yocto-spinner", await work(), { cacheFolder, download });
  return JSON.parse(Buffer.from(await archive.read("package.json")).toString());
}

test("a package is downloaded once and kept; a damaged copy is downloaded again", async () => {
  const first = await manifest();
  assert.deepEqual(await manifest(assert.fail), first);
  const downloads = join(cacheFolder, "downloads");
  const [kept = ""] = (await readdir(downloads)).filter((name) => name.startsWith("sha512-"));
  await truncate(join(downloads, kept), 10);
  const again = new Error("asked npm again");
  await assert.rejects(
    manifest(() => Promise.reject(again)),
    again,
  );
  assert.deepEqual(await manifest(), first);
  assert.deepEqual(await manifest(assert.fail), first);
});

test("a full folder is known as such, whether the archive is npm's or was kept, and no half archive is kept", async (t) => {
  const disk = await smallDisk(t, join(folder, "disk"), "4k");
  if (disk === undefined) return;
  for (const cache of [join(folder, "empty"), cacheFolder])
    await assert.rejects(fetchNpmArchive("yocto-spinner", disk, { cacheFolder: cache }), isDiskFull);
  await assert.rejects(readdir(join(folder, "empty")));
});
