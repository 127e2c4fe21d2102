import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { klutchVersion } from "@klutch/api";
import { run } from "@klutch/engines";
import { archiveName, type ExecutableName, packExecutable, type Platform } from "./executables-archive.ts";

const program = Buffer.from("a program ".repeat(1000));
const licences = [{ path: "LICENSE", content: Buffer.from("do as you like") }];

async function pack(name: ExecutableName, os: Platform["os"]): Promise<Uint8Array> {
  return packExecutable(name, { os }, program, licences);
}

test("an archive is named after its program and platform, and has a program that may be started", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-archive-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, archiveName("klutch", { os: "darwin", architecture: "arm64" }));
  assert.ok(file.endsWith(`/klutch_${klutchVersion}_darwin_arm64.tar.gz`));
  await writeFile(file, await pack("klutch", "darwin"));
  await run("tar", ["-xzf", file, "-C", folder]);
  assert.deepEqual(await readFile(join(folder, "klutch")), program);
  assert.equal((await stat(join(folder, "klutch"))).mode & 0o777, 0o755);
  assert.equal(await readFile(join(folder, "LICENSE"), "utf8"), "do as you like");
});

test("for Windows it is a zip file that other tools read, with .exe at the program's name", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-archive-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, archiveName("kubectl-bind", { os: "windows", architecture: "amd64" }));
  assert.ok(file.endsWith(`/kubectl-bind_${klutchVersion}_windows_amd64.zip`));
  const archive = await pack("kubectl-bind", "windows");
  assert.deepEqual(await pack("kubectl-bind", "windows"), archive);
  await writeFile(file, archive);
  const { stdout } = await run("python3", ["-c", listing, file]).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { stdout: "" };
    throw error;
  });
  if (stdout === "") t.skip("there is no python3, which would read the archive");
  else
    assert.deepEqual(JSON.parse(stdout), [
      ["kubectl-bind.exe", program.length, "0o100755", program.toString().slice(0, 10)],
      ["LICENSE", 14, "0o100644", "do as you "],
    ]);
});

/** Lists an archive with Python's own reader, which checks the sums. */
const listing = `
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
print(json.dumps([[i.filename, i.file_size, oct(i.external_attr >> 16), archive.read(i)[:10].decode()] for i in archive.infolist()]))
`;
