import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { allPlatforms, platformName, platformOfProgram } from "./executables-archive.ts";
import { withoutCertificates } from "./executables-signatures.ts";
import { lockedPackages } from "./lock-file.ts";

/** The start of a 64-bit Windows program, and behind it a signature. */
function windowsProgram(machine: number): Buffer {
  const program = Buffer.alloc(600);
  program.write("MZ", "latin1");
  program.writeUInt32LE(128, 0x3c);
  program.write("PE\0\0", 128, "latin1");
  program.writeUInt16LE(machine, 132);
  program.writeUInt16LE(0x20b, 152);
  program.writeUInt32LE(77, 216);
  program.writeUInt32LE(500, 296);
  program.writeUInt32LE(100, 300);
  return program;
}

test("every platform has a package with Node in the lock file", async () => {
  const folders = allPlatforms.map(({ node }) => `node_modules/${node}`);
  for (const { name, version, license } of await lockedPackages(folders)) {
    assert.match(version, /^26\./, name);
    assert.equal(license, "MIT", name);
  }
  assert.equal(new Set(allPlatforms.map(platformName)).size, 6);
});

test("a program tells its platform, and other files tell nothing", async () => {
  assert.equal(platformOfProgram(windowsProgram(0x8664)), "windows/amd64");
  assert.equal(platformOfProgram(windowsProgram(0xaa64)), "windows/arm64");
  assert.equal(platformOfProgram(windowsProgram(0x14c)), undefined);
  const own = `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`;
  assert.equal(platformOfProgram(await readFile(process.execPath)), own);
  for (const text of ["", "MZ", "#!/bin/sh\n".repeat(10), `MZ${"\xff".repeat(100)}`])
    assert.equal(platformOfProgram(Buffer.from(text, "latin1")), undefined);
});

test("the signature of another is taken from a Windows program, and nothing but that", () => {
  const signed = windowsProgram(0x8664);
  const plain = Buffer.from(withoutCertificates(signed));
  assert.equal(plain.length, 500);
  assert.equal(plain.readBigUInt64LE(296), 0n);
  assert.equal(plain.readUInt32LE(216), 0);
  assert.deepEqual(withoutCertificates(plain), plain);
  const longer = Buffer.concat([signed, Buffer.alloc(1)]);
  assert.throws(() => withoutCertificates(longer), /something behind its signature/);
});
