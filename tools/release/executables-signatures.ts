/**
 * Makes the signature that macOS asks for: on arm64 it starts no program without one. This one is "ad hoc": it holds a hash of each page and says
 * nothing about who made the program, so Gatekeeper still warns of a file that a browser downloaded. For more a certificate is needed, and a
 * tool that signs with it.
 *
 * Follows `mach-o/loader.h` and `osfmk/kern/cs_blobs.h` of Apple's xnu.
 */
import { hash } from "node:crypto";

const segmentCommand = 0x19;
const signatureCommand = 0x1d;
const fileHeaderLength = 32;
const commandLength = 16;
const pageLength = 4096;
const hashLength = 32;
const superBlobLength = 20;
const directoryLength = 88;

/** A part of a Mach-O file that is mapped into memory, and where its command is; all in bytes. */
type Segment = Readonly<Record<"command" | "offset" | "length", number>>;

/**
 * Returns the program with a signature of its own making, under this identifier. Throws when it is signed already, or is no 64-bit Mach-O file with a
 * place for a signature.
 */
export function signMachO(program: Uint8Array, identifier: string): Uint8Array {
  const { text, linkEdit, count, end, contentStart } = layoutOf(Buffer.from(program));
  if (linkEdit.offset + linkEdit.length !== program.length)
    throw new Error("the Mach-O file has something behind its segment __LINKEDIT");
  if (end + commandLength > contentStart)
    throw new Error("the Mach-O file has no place for one more load command");
  const start = roundUp(program.length, 16);
  const code = Buffer.concat([program], start);
  const pages = Math.ceil(start / pageLength);
  const length = superBlobLength + directoryLength + identifier.length + 1 + pages * hashLength;
  code.writeUInt32LE(count + 1, 16);
  code.writeUInt32LE(end + commandLength - fileHeaderLength, 20);
  const inLinkEdit = start + length - linkEdit.offset;
  code.writeBigUInt64LE(BigInt(roundUp(inLinkEdit, 0x4000)), linkEdit.command + 32);
  code.writeBigUInt64LE(BigInt(inLinkEdit), linkEdit.command + 48);
  for (const [index, value] of [signatureCommand, commandLength, start, length].entries())
    code.writeUInt32LE(value, end + 4 * index);
  return Buffer.concat([code, superBlob(code, identifier, text)]);
}

/** One blob, the code directory: the hashes of the pages and what they are of. */
function superBlob(code: Buffer, identifier: string, text: Segment): Buffer {
  const pages = Array.from({ length: Math.ceil(code.length / pageLength) }, (_, page) =>
    hash("sha256", code.subarray(page * pageLength, (page + 1) * pageLength), "buffer"),
  );
  const name = Buffer.from(`${identifier}\0`, "latin1");
  const hashesAt = directoryLength + name.length;
  const length = hashesAt + pages.length * hashLength;
  const [version, adHocByLinker, sha256, mainProgram] = [0x2_0400, 0x2_0002, 2, 1];
  return Buffer.concat([
    words(0xfade_0cc0, superBlobLength + length, 1, 0, superBlobLength),
    words(0xfade_0c02, length, version, adHocByLinker, hashesAt, directoryLength),
    words(0, pages.length, code.length),
    Buffer.from([hashLength, sha256, 0, Math.log2(pageLength)]),
    words(0, 0, 0, 0, 0, 0),
    words(0, text.offset, 0, text.length, 0, mainProgram),
    name,
    ...pages,
  ]);
}

/** Returns numbers of 32 bits, the highest byte first, as everything in a signature has it. */
function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}

/** Finds the two segments that a signature is about, the commands, and the first section's content, before which commands must end. */
function layoutOf(
  bytes: Buffer,
): Readonly<Record<"text" | "linkEdit", Segment>> &
  Readonly<Record<"count" | "end" | "contentStart", number>> {
  if (bytes.length < fileHeaderLength || bytes.readUInt32LE(0) !== 0xfeed_facf)
    throw new Error("this is no 64-bit Mach-O file");
  const count = bytes.readUInt32LE(16);
  const segments = new Map<string, Segment>();
  let contentStart = bytes.length;
  let end = fileHeaderLength;
  for (let index = 0; index < count; index++) {
    const command = end;
    end += bytes.readUInt32LE(command + 4);
    const type = bytes.readUInt32LE(command);
    if (type === signatureCommand) throw new Error("the Mach-O file is signed already");
    if (type !== segmentCommand) continue;
    const name = bytes.toString("latin1", command + 8, command + 24).replace(/\0+$/, "");
    const [offset = 0, length = 0] = [40, 48].map((at) => Number(bytes.readBigUInt64LE(command + at)));
    segments.set(name, { command, offset, length });
    for (let section = command + 72; section < end; section += 80) {
      const content = bytes.readUInt32LE(section + 48);
      // Some, such as those of zeros, have none.
      if (content > 0) contentStart = Math.min(contentStart, content);
    }
  }
  const [text, linkEdit] = [segments.get("__TEXT"), segments.get("__LINKEDIT")];
  if (text === undefined || linkEdit === undefined)
    throw new Error("the Mach-O file lacks the segment __TEXT or __LINKEDIT");
  return { text, linkEdit, count, end, contentStart };
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

const optionalHeader = 24;
const checksumAt = optionalHeader + 64;
/** Offset of the fifth entry in the table of a 64-bit file, whose entries are an offset in the file and a length. */
const certificatesAt = optionalHeader + 112 + 4 * 8;

/**
 * Returns the program without its builder's signature, which would no longer match: an unsigned program is better than one with
 * a wrong signature. Throws when it is no 64-bit PE file, or its signature is not its end. (Microsoft's PE format)
 */
export function withoutCertificates(program: Uint8Array): Uint8Array {
  const bytes = Buffer.from(program);
  const header = bytes.readUInt32LE(0x3c);
  if (bytes.readUInt16LE(header + optionalHeader) !== 0x20b) throw new Error("this is no 64-bit PE file");
  const [start, length] = [0, 4].map((offset) => bytes.readUInt32LE(header + certificatesAt + offset));
  if (start === undefined || length === undefined || start === 0) return bytes;
  if (start + length !== bytes.length) throw new Error("the PE file has something behind its signature");
  bytes.writeBigUInt64LE(0n, header + certificatesAt);
  bytes.writeUInt32LE(0, header + checksumAt);
  return bytes.subarray(0, start);
}
