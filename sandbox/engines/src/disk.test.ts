import assert from "node:assert/strict";
import { access, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { requireDiskSpace } from "./disk.ts";
import { EngineError } from "./errors.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-disk-"));
after(() => rm(folder, { recursive: true, force: true }));
const mib = 1024 * 1024;

async function freeMiB(): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return (bavail * bsize) / mib;
}

test("what fits is no matter, and the folders are there afterwards", async () => {
  const place = join(folder, "a", "b");
  await requireDiskSpace([{ folder: place, sizeMiB: 1 }]);
  await access(place);
});

test("folders of one disk share its room", async () => {
  const half = (await freeMiB()) * 0.7;
  const first = { folder: join(folder, "first"), sizeMiB: half };
  const second = { folder: join(folder, "second"), sizeMiB: half };
  await requireDiskSpace([first]);
  await requireDiskSpace([second]);
  await assert.rejects(requireDiskSpace([first, second]), (error) => {
    assert.ok(error instanceof EngineError);
    assert.equal(error.code, "DiskFull");
    assert.match(
      error.message,
      /needs \d+\.\d GiB more on the disk of .*first, .*second, which has \d+\.\d GiB free/,
    );
    assert.match(error.message, /GOCACHE, GOMODCACHE, KLUTCH_CACHE_DIR/);
    return true;
  });
});
