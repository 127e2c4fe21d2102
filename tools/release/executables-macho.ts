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

/** Parts of a Mach-O file; offsets are in bytes. */
interface Layout {
  readonly text: Segment;
  readonly linkEdit: Segment;
  readonly commands: { readonly count: number; readonly end: number };
  /** Offset of the first section's content: commands must end before it. */
  readonly contentStart: number;
}

interface Segment {
  /** Offset of its command. */
  readonly command: number;
  readonly offset: number;
  readonly length: number;
}

/**
 * Returns the program with a signature of its own making, under this identifier. Throws when it is signed already, or is no 64-bit Mach-O file with a
 * place for a signature.
 */
export function signMachO(program: Uint8Array, identifier: string): Uint8Array {
  const { text, linkEdit, commands, contentStart } = layoutOf(Buffer.from(program));
  if (linkEdit.offset + linkEdit.length !== program.length)
    throw new Error("the Mach-O file has something behind its segment __LINKEDIT");
  if (commands.end + commandLength > contentStart)
    throw new Error("the Mach-O file has no place for one more load command");
  const start = roundUp(program.length, 16);
  const pages = Math.ceil(start / pageLength);
  const length = superBlobLength + directoryLength + identifier.length + 1 + pages * hashLength;
  const signed = Buffer.alloc(start + length);
  signed.set(program);
  signed.writeUInt32LE(commands.count + 1, 16);
  signed.writeUInt32LE(commands.end + commandLength - fileHeaderLength, 20);
  const inLinkEdit = start + length - linkEdit.offset;
  signed.writeBigUInt64LE(BigInt(roundUp(inLinkEdit, 0x4000)), linkEdit.command + 32);
  signed.writeBigUInt64LE(BigInt(inLinkEdit), linkEdit.command + 48);
  for (const [index, value] of [signatureCommand, commandLength, start, length].entries())
    signed.writeUInt32LE(value, commands.end + 4 * index);
  signed.set(superBlob(signed.subarray(0, start), identifier, text), start);
  return signed;
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

function layoutOf(bytes: Buffer): Layout {
  if (bytes.length < fileHeaderLength || bytes.readUInt32LE(0) !== 0xfeed_facf)
    throw new Error("this is no 64-bit Mach-O file");
  const count = bytes.readUInt32LE(16);
  const segments = new Map<string, Segment>();
  let contentStart = bytes.length;
  let at = fileHeaderLength;
  for (let index = 0; index < count; index++) {
    const command = bytes.readUInt32LE(at);
    if (command === signatureCommand) throw new Error("the Mach-O file is signed already");
    if (command === segmentCommand) {
      const [offset, length] = [bytes.readBigUInt64LE(at + 40), bytes.readBigUInt64LE(at + 48)].map(Number);
      segments.set(textOf(bytes, at + 8), { command: at, offset: offset ?? 0, length: length ?? 0 });
      contentStart = Math.min(contentStart, firstContent(bytes, at));
    }
    at += bytes.readUInt32LE(at + 4);
  }
  const [text, linkEdit] = [segments.get("__TEXT"), segments.get("__LINKEDIT")];
  if (text === undefined || linkEdit === undefined)
    throw new Error("the Mach-O file lacks the segment __TEXT or __LINKEDIT");
  return { text, linkEdit, commands: { count, end: at }, contentStart };
}

/** Returns where the content of a segment's sections begins; some, such as those of zeros, have none. */
function firstContent(bytes: Buffer, command: number): number {
  const sections = bytes.readUInt32LE(command + 64);
  const offsets = Array.from({ length: sections }, (_, index) =>
    bytes.readUInt32LE(command + 72 + 80 * index + 48),
  );
  return Math.min(...offsets.filter((offset) => offset > 0), Number.POSITIVE_INFINITY);
}

/** Reads a name of at most 16 bytes, filled with zeros. */
function textOf(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, at + 16).replace(/\0+$/, "");
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}
