import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { run } from "@klutch/engines";
import { signMachO } from "./executables-signatures.ts";
import { platformOfProgram } from "./executables-archive.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-macho-"));
after(() => rm(folder, { recursive: true, force: true }));

test("a macOS program gets the same signature, byte for byte, as from Go's linker", async (t) => {
  const signed = await programOfGo();
  if (signed === undefined) return t.skip("there is no go, whose linker signs the program to compare with");
  assert.equal(platformOfProgram(signed), "darwin/arm64");
  const plain = withoutSignature(signed);
  assert.ok(Buffer.from(signMachO(plain, "a.out")).equals(inWholePages(signed)));
  assert.throws(() => signMachO(signed, "a.out"), /signed already/);
  const longer = Buffer.concat([plain, Buffer.alloc(16)]);
  assert.throws(() => signMachO(longer, "a.out"), /something behind its segment __LINKEDIT/);
});

/** The smallest one; undefined when there is no Go here. */
async function programOfGo(): Promise<Buffer | undefined> {
  await writeFile(join(folder, "main.go"), "package main\n\nfunc main() {}\n");
  const env = { ...process.env, GOOS: "darwin", GOARCH: "arm64", CGO_ENABLED: "0", GOFLAGS: "" };
  try {
    await run("go", ["build", "-o", "program", "main.go"], { cwd: folder, env });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  return readFile(join(folder, "program"));
}

/** Go's linker maps what it signs to the last byte, Apple's and ours to the end of a page; the first page has this number, so it has another hash. */
function inWholePages(signed: Buffer): Buffer {
  const expected = Buffer.from(signed);
  const length = expected.indexOf("__LINKEDIT") - 8 + 32;
  const pages = Math.ceil(Number(expected.readBigUInt64LE(length)) / 0x4000);
  expected.writeBigUInt64LE(BigInt(pages * 0x4000), length);
  const firstHash = expected.indexOf("a.out\0", signed.readUInt32LE(32 + signed.readUInt32LE(20) - 8)) + 6;
  return Buffer.from(
    expected.fill(hash("sha256", expected.subarray(0, 4096), "buffer"), firstHash, firstHash + 32),
  );
}

/** Takes back what the linker did last: the command of the signature, which is the last one, and what it points to. */
function withoutSignature(signed: Buffer): Buffer {
  const commands = signed.readUInt32LE(16);
  const size = signed.readUInt32LE(20);
  const last = 32 + size - 16;
  assert.equal(signed.readUInt32LE(last), 0x1d);
  const plain = Buffer.from(signed.subarray(0, signed.readUInt32LE(last + 8)));
  plain.fill(0, last, last + 16);
  plain.writeUInt32LE(commands - 1, 16);
  plain.writeUInt32LE(size - 16, 20);
  const linkEdit = plain.indexOf("__LINKEDIT") - 8;
  const offset = plain.readBigUInt64LE(linkEdit + 40);
  plain.writeBigUInt64LE(BigInt(plain.length) - offset, linkEdit + 48);
  return plain;
}
