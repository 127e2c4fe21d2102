import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildImage, plainLayerOf } from "./image.ts";
import { layoutArchive, writeLayout } from "./layout.ts";

const layer = plainLayerOf([{ path: "a", content: Buffer.from("x") }]);
const image = buildImage({ architecture: "amd64", layers: [layer], config: {} });

test("an archive of a layout has the same files as its folder, and a layer without compression is its own content", async (t) => {
  assert.equal(layer.blob.digest, layer.diffId);
  const folder = await mkdtemp(join(tmpdir(), "klutch-layout-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const images = [{ name: "v1", image }];
  await writeLayout(folder, images);
  const archive = execFileSync("tar", ["-tf", "-"], { input: layoutArchive(images), encoding: "utf8" });
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = files
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  assert.deepEqual(archive.trim().split("\n").toSorted(), paths.toSorted());
  assert.ok(paths.includes(join("blobs", "sha256", layer.diffId.replace("sha256:", ""))));
});
