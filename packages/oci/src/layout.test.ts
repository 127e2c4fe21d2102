import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { OciError } from "./errors.ts";
import { buildImage, buildIndex, plainLayerOf } from "./image.ts";
import { layoutArchive, writeLayout } from "./layout.ts";
import { readLayout } from "./read-layout.ts";

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

test("what a layout has under a name is read back, and a blob that is not what it is called is refused", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-layout-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const index = buildIndex([{ architecture: "amd64", image }]);
  await writeLayout(folder, [
    { name: "one", image },
    { name: "all", image: index },
  ]);
  const digests = ({ manifest }: { readonly manifest: { readonly digest: string } }): string =>
    manifest.digest;
  assert.deepEqual(digests(await readLayout(folder, "one")), digests(image));
  const read = await readLayout(folder, "all");
  assert.ok("images" in read);
  assert.deepEqual([digests(read), ...read.images.map(digests)], [digests(index), digests(image)]);
  await assert.rejects(readLayout(folder, "two"), /has no image with the name two/);
  await writeFile(join(folder, "blobs", ...layer.diffId.split(":")), "another");
  await assert.rejects(
    readLayout(folder, "all"),
    (error) => error instanceof OciError && error.message.includes(`the blob ${layer.diffId} has the digest`),
  );
  const outside = { digest: "sha256:../../secret", mediaType: "application/json" };
  const annotations = { "org.opencontainers.image.ref.name": "one" };
  await writeFile(join(folder, "index.json"), JSON.stringify({ manifests: [{ ...outside, annotations }] }));
  await assert.rejects(readLayout(folder, "one"), /without a sha256 digest/);
});
