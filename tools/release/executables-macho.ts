/**
 * The signature that macOS asks for: on arm64 it starts no program without one. This one is "ad hoc": it holds a hash of each page and says
 * nothing about who made the program, so Gatekeeper still warns of a file that a browser downloaded. For more a certificate is needed, and a
 * tool that signs with it.
 *
 * After `mach-o/loader.h` and `osfmk/kern/cs_blobs.h` of Apple's xnu.
 */
import { hash } from "node:crypto";

const segmentCommand = 0x19;
const signatureCommand = 0x1d;
const fileHeaderLength = 32;
const commandLength = 16;
const pageBits = 12;
const hashLength = 32;
const superBlobLength = 20;
const directoryLength = 88;

/** Of a Mach-O file; offsets are in bytes. */
interface Layout {
  readonly text: Segment;
  readonly linkEdit: Segment;
  readonly commands: { readonly count: number; readonly end: number };
  /** Where the first section's content begins: commands must end before. */
  readonly contentStart: number;
}

interface Segment {
  /** Where its command is. */
  readonly command: number;
  readonly offset: number;
  readonly length: number;
}

/**
 * The program with a signature of its own making, under this identifier. Throws when it is signed already, or is no 64-bit Mach-O file with a
 * place for a signature.
 */
export function signMachO(program: Uint8Array, identifier: string): Uint8Array {
  const { text, linkEdit, commands, contentStart } = layoutOf(Buffer.from(program));
  if (linkEdit.offset + linkEdit.length !== program.length)
    throw new Error("the Mach-O file has something behind its segment __LINKEDIT");
  if (commands.end + commandLength > contentStart)
    throw new Error("the Mach-O file has no place for one more load command");
  const start = roundUp(program.length, 16);
  const pages = Math.ceil(start / 2 ** pageBits);
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

/** One blob, the code directory: the hashes of the pages and what they are of. Everything in it is big-endian. */
function superBlob(code: Buffer, identifier: string, text: Segment): Buffer {
  const pageLength = 2 ** pageBits;
  const pages = Math.ceil(code.length / pageLength);
  const hashesAt = directoryLength + identifier.length + 1;
  const directory = Buffer.alloc(hashesAt + pages * hashLength);
  const adHocByLinker = 0x2_0002;
  const numbers = [0xfade_0c02, directory.length, 0x2_0400, adHocByLinker, hashesAt, directoryLength];
  for (const [index, value] of [...numbers, 0, pages, code.length].entries())
    directory.writeUInt32BE(value, 4 * index);
  const sha256 = 2;
  directory.set([hashLength, sha256, 0, pageBits], 36);
  const mainProgram = 1n;
  for (const [index, value] of [BigInt(text.offset), BigInt(text.length), mainProgram].entries())
    directory.writeBigUInt64BE(value, 64 + 8 * index);
  directory.write(identifier, directoryLength, "latin1");
  for (let page = 0; page < pages; page++) {
    const content = code.subarray(page * pageLength, (page + 1) * pageLength);
    directory.set(hash("sha256", content, "buffer"), hashesAt + page * hashLength);
  }
  const head = Buffer.alloc(superBlobLength);
  const embeddedSignature = 0xfade_0cc0;
  const fields = [embeddedSignature, head.length + directory.length, 1, 0, head.length];
  for (const [index, value] of fields.entries()) head.writeUInt32BE(value, 4 * index);
  return Buffer.concat([head, directory]);
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

/** Where the content of a segment's sections begins; some, such as those of zeros, have none. */
function firstContent(bytes: Buffer, command: number): number {
  const sections = bytes.readUInt32LE(command + 64);
  const offsets = Array.from({ length: sections }, (_, index) =>
    bytes.readUInt32LE(command + 72 + 80 * index + 48),
  );
  return Math.min(...offsets.filter((offset) => offset > 0), Number.POSITIVE_INFINITY);
}

/** A name of at most 16 bytes, filled with zeros. */
function textOf(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, at + 16).replace(/\0+$/, "");
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}
