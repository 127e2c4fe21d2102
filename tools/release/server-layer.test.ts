import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { UnpackedPackage } from "@klutch/engines";
import { buildServerLayer } from "./server-layer.ts";
import type { ServerSet } from "./server-sets.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-server-layer-"));
after(() => rm(folder, { recursive: true, force: true }));

/** A package with these files, which are texts, and its licence. */
async function unpacked(name: string, files: Readonly<Record<string, string>>): Promise<UnpackedPackage> {
  const root = join(folder, name);
  for (const [path, text] of Object.entries({ [`usr/share/doc/${name}/copyright`]: "free", ...files })) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return { name, version: "1", root };
}

const set: ServerSet = { name: "redis", files: { server: /^usr\/bin\/\w+$/ }, libraries: ["library"] };
const server = await unpacked("server", { "usr/bin/one": "#!/bin/sh\n", "usr/share/manual": "long" });
await symlink("one", join(server.root, "usr/bin/two"));
const library = await unpacked("library", { "lib/x86_64-linux-gnu/libc.so.6.1": "a library" });
await symlink("libc.so.6.1", join(library.root, "lib/x86_64-linux-gnu/libc.so.6"));

/** Paths in a layer's archive: the names at the start of its headers. */
function pathsIn(layer: Uint8Array): readonly string[] {
  const text = gunzipSync(layer).toString("latin1");
  return [...text.matchAll(/([\w./+-]+)\0+0000\d{3}\0/g)].map(([, path = ""]) => path);
}

test("the wanted files of a package are taken with its licence, links stay links, and the bytes are the same each time", async () => {
  const layer = await buildServerLayer(set, [server, library], new Set());
  const paths = pathsIn(layer.layer.blob.bytes);
  for (const path of ["usr/bin/one", "usr/bin/two", "usr/share/doc/server/copyright"])
    assert.ok(paths.includes(path), String(paths));
  assert.ok(!paths.includes("usr/share/manual"));
  assert.deepEqual(
    layer.debian.map(({ name }) => name),
    ["server"],
    "a package of which nothing is needed is not named",
  );
  const again = await buildServerLayer(set, [server, library], new Set());
  assert.equal(again.layer.blob.digest, layer.layer.blob.digest);
});

test("a library that a program needs comes along unless a lower layer has it, and a missing one is named", {
  skip: process.platform === "linux" ? false : "only Linux has such programs",
}, async () => {
  await cp("/bin/true", join(server.root, "usr/bin/three"));
  const layer = await buildServerLayer(set, [server, library], new Set());
  assert.deepEqual(layer.libraries, ["libc.so.6"]);
  assert.ok(pathsIn(layer.layer.blob.bytes).includes("lib/x86_64-linux-gnu/libc.so.6"));
  assert.deepEqual(
    layer.debian.map(({ name }) => name),
    ["server", "library"],
  );
  const above = await buildServerLayer(set, [server, library], new Set(["libc.so.6"]));
  assert.deepEqual(above.libraries, []);
  await assert.rejects(
    buildServerLayer(set, [server], new Set()),
    /^Error: usr\/bin\/three needs libc\.so\.6, which is in none of the Debian packages/,
  );
});

test("a package without the files that make the server is refused by name", async () => {
  const other: ServerSet = { ...set, files: { server: /^usr\/sbin\/new$/ } };
  await assert.rejects(buildServerLayer(other, [server], new Set()), /the Debian package server has no file/);
});
