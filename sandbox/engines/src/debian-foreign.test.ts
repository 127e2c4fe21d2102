/** Packages of other machines by this machine's own apt, from an archive on loopback that can be made to lie. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { AptFault, type ForeignOptions, unpackForeign } from "./debian-apt.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "klutch-foreign-"));
after(() => rm(folder, { recursive: true, force: true }));
const names = ["one", "two"] as const;
const archive = join(folder, "archive");
const skip = await buildArchive().then(
  () => false,
  () => "this machine has no dpkg-deb",
);

/** Two packages of another processor, and the list of them. */
async function buildArchive(): Promise<void> {
  let list = "";
  for (const name of names) {
    const control = `Package: ${name}\nVersion: 1:2\nArchitecture: s390x\nMaintainer: n <n@example.test>\nDescription: ${name}\n`;
    const content = join(archive, name);
    await mkdir(join(content, "DEBIAN"), { recursive: true });
    await writeFile(join(content, "DEBIAN", "control"), control);
    await writeFile(join(content, "says"), name);
    const file = `${name}_s390x.deb`;
    await run("dpkg-deb", ["--build", content, join(archive, file)]);
    const bytes = await readFile(join(archive, file));
    const sum = createHash("sha256").update(bytes).digest("hex");
    list += `${control}Filename: ./${file}\nSize: ${bytes.length}\nSHA256: ${sum}\n\n`;
  }
  await writeFile(join(archive, "Packages"), list);
}

/** Requests that the archive received. */
const asked: string[] = [];
/** Changes what it serves. */
let lie = (content: Buffer): Buffer => content;
const server = createServer((request, response) => {
  const name = request.url?.split("/").at(-1) ?? "";
  readFile(join(archive, name)).then(
    (content) => {
      if (name.endsWith(".deb")) asked.push(name);
      response.end(name.endsWith(".deb") ? lie(content) : content);
    },
    () => response.writeHead(404).end(),
  );
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
after(() => server.close());

/** Unpacks both packages, and returns their contents. */
async function unpacked(work: string, options?: Partial<ForeignOptions>): Promise<readonly string[]> {
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const own = join(folder, work);
  await mkdir(own);
  const sources = join(folder, "sources.list");
  await writeFile(sources, `deb [trusted=yes] http://127.0.0.1:${address.port} ./\n`);
  const packages = await unpackForeign(names, own, {
    architecture: "s390x",
    settings: [
      `Dir::Etc::SourceList "${sources}";`,
      'Dir::Etc::SourceParts "/dev/null";',
      'Acquire::http::Proxy::127.0.0.1 "DIRECT";',
    ],
    cacheFolder: join(folder, "cache"),
    say: () => undefined,
    ...options,
  });
  assert.deepEqual(
    packages.map(({ name, version }) => `${name} ${version}`),
    ["one 1:2", "two 1:2"],
  );
  return Promise.all(packages.map(({ root }) => readFile(join(root, "says"), "utf8")));
}

const keptIn = async (cacheFolder: string): Promise<readonly string[]> =>
  (await readdir(join(cacheFolder, "downloads")).catch(() => [])).filter((name) => name !== "mutex");

test("the second build of the same versions downloads nothing; a damaged package is downloaded again", {
  skip,
}, async () => {
  const said: string[] = [];
  const options = { say: (line: string): number => said.push(line) };
  assert.deepEqual(await unpacked("first", options), names);
  assert.deepEqual(asked.splice(0).toSorted(), ["one_s390x.deb", "two_s390x.deb"]);
  assert.deepEqual(await unpacked("second", options), names);
  assert.deepEqual(asked.splice(0), []);
  assert.deepEqual(
    said.filter((line) => line.startsWith("downloading")),
    ["downloading 2 of 2 packages …", "downloading 0 of 2 packages …"],
  );
  const cache = join(folder, "cache");
  const [kept = ""] = await keptIn(cache);
  await truncate(join(cache, "downloads", kept), 100);
  assert.deepEqual(await unpacked("third"), names);
  assert.equal(asked.splice(0).length, 1);
  assert.deepEqual(await unpacked("fourth"), names);
  assert.deepEqual(asked.splice(0), []);
});

test("other bytes of the same length than the list names are refused and not kept", { skip }, async () => {
  const cacheFolder = join(folder, "lied-to");
  lie = (content) =>
    Buffer.from(content.map((byte, index) => (index === content.length - 1 ? byte ^ 1 : byte)));
  await assert.rejects(
    unpacked("lie", { cacheFolder }),
    (error) => error instanceof AptFault && /Hash Sum mismatch/.test(error.message),
  );
  assert.deepEqual(await keptIn(cacheFolder), []);
  assert.ok(!(await readdir(join(folder, "lie"))).includes("one"), "nothing of it is unpacked");
  lie = (content) => content;
  asked.length = 0;
});

test("an apt that downloads something else than it announced is refused, and nothing is unpacked", {
  skip,
}, async () => {
  const aptGet = join(folder, "lying-apt");
  const script = `#!/bin/sh
case "$*" in *--print-uris*|*update) exec apt-get "$@";; esac
apt-get "$@" && for file in *.deb; do echo >> "$file"; done
`;
  await writeFile(aptGet, script, { mode: 0o755 });
  const cacheFolder = join(folder, "lied-to-by-apt");
  await assert.rejects(unpacked("lying", { aptGet, cacheFolder }), {
    code: "ChecksumMismatch",
    message: /^one_1%3a2_s390x\.deb has the sha256 digest .* was announced; not using it$/,
  });
  assert.deepEqual(await keptIn(cacheFolder), []);
  assert.ok(!(await readdir(join(folder, "lying"))).includes("one"));
});

test("two builds at once get the same, and keep each package once", { skip }, async () => {
  const options = { cacheFolder: join(folder, "both") };
  const both = await Promise.all([unpacked("left", options), unpacked("right", options)]);
  assert.deepEqual(both, [names, names]);
  assert.equal((await keptIn(options.cacheFolder)).length, 2);
});

test("on a disk without room for its lists apt, which would wait for ever, is not asked", {
  skip,
}, async (t) => {
  const disk = join(folder, "disk");
  await mkdir(disk);
  const mounted = await run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]).catch(() => undefined);
  if (mounted === undefined) return t.skip("only root can mount a small disk");
  t.after(() => run("umount", [disk]));
  await assert.rejects(
    unpacked("disk/work"),
    (error) =>
      error instanceof AptFault &&
      error.message === `the disk of ${join(disk, "work")} has 1 MiB free, of which apt needs 64`,
  );
});
