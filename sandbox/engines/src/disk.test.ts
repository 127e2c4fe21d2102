import assert from "node:assert/strict";
import { access, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { engineDefinition } from "./catalog.ts";
import { requireDiskSpace, roomFor } from "./disk.ts";
import { EngineError } from "./environment.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-disk-"));
after(() => rm(folder, { recursive: true, force: true }));
const mib = 1024 * 1024;

async function freeMiB(): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return (bavail * bsize) / mib;
}

test("folders that fit pass, and exist afterwards", async () => {
  const place = join(folder, "a", "b");
  await requireDiskSpace([{ folder: place, sizeMiB: 1, moreMiB: 0 }]);
  await access(place);
});

test("folders of one disk share its room", async () => {
  const half = (await freeMiB()) * 0.7;
  const first = { folder: join(folder, "first"), sizeMiB: half, moreMiB: 0 };
  const second = { folder: join(folder, "second"), sizeMiB: half, moreMiB: 0 };
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

const folders = { buildCache: "/b", moduleCache: "/m", programs: "/p" };
const of = (...names: Parameters<typeof engineDefinition>[0][]): ReturnType<typeof roomFor> =>
  roomFor(
    names.map((name) => engineDefinition(name)),
    folders,
  );

test("programs that only tests or nodes run need room besides the existing files; small programs are not checked", () => {
  assert.deepEqual(of("crane"), []);
  const [sandbox] = of("kube-apiserver", "crossplane");
  assert.deepEqual(sandbox, { folder: "/b", sizeMiB: 4_900, moreMiB: 0 });
  assert.deepEqual(
    of("judges", "provider-kubernetes").map(({ sizeMiB, moreMiB }) => [sizeMiB, moreMiB]),
    [
      [0, 1_800],
      [0, 1_600],
      [0, 200],
    ],
  );
  assert.deepEqual(of("kubelet", "kube-proxy")[0], { folder: "/b", sizeMiB: 4_900, moreMiB: 800 });
  assert.deepEqual(of("kubectl", "judges")[0], { folder: "/b", sizeMiB: 4_900, moreMiB: 1_000 });
});
