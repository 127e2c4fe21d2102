import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { announcedBy, complaintsOf } from "./debian-apt.ts";
import { debianDefinitions, programsIn } from "./debian-packages.ts";
import { folderOfVersion, resolveDebian } from "./debian.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-debian-"));
await chmod(folder, 0o755);
after(() => rm(folder, { recursive: true, force: true }));

/** A tree with programs that say this version: only a fake is installed here on demand. */
async function installed(name: string, says: string, leaveOut?: string): Promise<string> {
  const root = join(folder, name);
  for (const [program, path] of programsIn(debianDefinitions.redis, root)) {
    await mkdir(dirname(path), { recursive: true });
    if (program === leaveOut) continue;
    await writeFile(path, `#!/bin/sh\necho '${says}'\n`);
    await chmod(path, 0o755);
  }
  return root;
}

const aptGet = join(folder, "no-such-apt");

test("installed programs are used first, without apt and without the cache", async () => {
  const installedRoot = await installed("there", "Redis server v=7.0.15 sha=0");
  const cacheFolder = join(folder, "untouched");
  const redis = await resolveDebian("redis", { installedRoot, cacheFolder, aptGet });
  assert.equal(redis.version, "7.0.15");
  assert.equal(redis.path("redis-cli"), join(installedRoot, "usr/bin/redis-cli"));
  assert.throws(() => redis.path("valkey"), RangeError);
  await assert.rejects(readdir(cacheFolder));
});

test("half an installation, and one of another version, are not used; a cached version is, without apt", async () => {
  const half = await installed("half", "Redis server v=7.0.15 sha=0", "redis-cli");
  const old = await installed("old", "Redis server v=6.0.16 sha=0");
  const cacheFolder = join(folder, "cache");
  for (const version of ["5_7.0.9-1", "5_7.0.15-1_deb12u10"])
    await installed(
      `cache/debian/redis/${version}`,
      `Redis server v=${version.slice(2).split("-")[0]} sha=0`,
    );
  await mkdir(join(folder, "cache/debian/redis/5_7.0.15-1_deb12u10/usr/lib/x86_64-linux-gnu"), {
    recursive: true,
  });
  for (const installedRoot of [half, old]) {
    const redis = await resolveDebian("redis", { installedRoot, cacheFolder, aptGet });
    assert.equal(redis.version, "7.0.15");
    assert.match(redis.env["LD_LIBRARY_PATH"] ?? "", /7\.0\.15-1_deb12u10\/usr\/lib\/x86_64-linux-gnu$/);
  }
});

test("without apt the error says what to install", async () => {
  const options = { installedRoot: folder, cacheFolder: join(folder, "none"), aptGet };
  await assert.rejects(resolveDebian("mariadb", options), {
    code: "PackageMissing",
    message:
      "mariadb is not installed here and cannot be fetched: this machine has no apt-get. Install the Debian packages mariadb-server-core mariadb-client (apt-get install mariadb-server-core mariadb-client), or give this machine the network that its apt needs.",
  });
});

test("an apt that fails is told in its own words, and leaves nothing", async () => {
  const badApt = join(folder, "bad-apt");
  await writeFile(badApt, "#!/bin/sh\necho 'W: small' >&2; echo 'E: no key for u:p' >&2; exit 100\n");
  await chmod(badApt, 0o755);
  const cacheFolder = join(folder, "bad");
  await assert.rejects(
    resolveDebian("redis", { installedRoot: folder, cacheFolder, aptGet: badApt }),
    /redis is not installed here and cannot be fetched: E: no key for u:p\. Install/,
  );
  assert.deepEqual(await readdir(join(cacheFolder, "debian", "redis")), ["mutex"]);
});

test("apt's errors are kept without credentials of its addresses, warnings only when there is nothing else", () => {
  const failed = "Err:1 http://user:secret@mirror.test/debian InRelease";
  assert.equal(complaintsOf(`Hit:1\nW: old\n${failed}\n`), "Err:1 http://mirror.test/debian InRelease");
  assert.equal(complaintsOf("Reading\nW: some index\n"), "W: some index");
  assert.equal(complaintsOf("Reading\n"), "");
});

test("packages that apt announces are read with their digests; weaker ones, and names that lead elsewhere, are left out", () => {
  const [sum256, sum512] = ["a1".repeat(32), "b2".repeat(64)];
  const output = [
    "Reading package lists...",
    `'http://u:p@mirror.test/z.deb' zlib1g_1%3a1.2_amd64.deb 86684 SHA256:${sum256}`,
    `'http://mirror.test/l.deb' libc6_2.36-9+deb12u14_amd64.deb 1 SHA512:${sum512}`,
    "'http://mirror.test/old.deb' old_1_amd64.deb 1 MD5Sum:c3",
    "'http://mirror.test/none.deb' none_1_amd64.deb 1 ",
    `'http://mirror.test/out.deb' ../out_1_amd64.deb 1 SHA256:${sum256}`,
  ];
  assert.deepEqual(announcedBy(output.join("\n"), "/archives"), [
    { path: "/archives/zlib1g_1%3a1.2_amd64.deb", digest: { algorithm: "sha256", hex: sum256 } },
    { path: "/archives/libc6_2.36-9+deb12u14_amd64.deb", digest: { algorithm: "sha512", hex: sum512 } },
  ]);
});

test("a version's folder can be part of a list of folders", () => {
  assert.equal(folderOfVersion("1:10.11.19-0+deb12u1"), "1_10.11.19-0+deb12u1");
});
