/** Archives for Windows (PKWARE's APPNOTE.TXT, version 2.0 of the format): no times, so equal content gives equal bytes. */
import { promisify } from "node:util";
import { crc32, deflateRaw } from "node:zlib";
import type { FileEntry } from "./files.ts";

/** Compresses as the archives have it. */
export const deflate: (content: Uint8Array) => Promise<Uint8Array> = promisify(deflateRaw);

/** A file of an archive; `path` is below its root. */
export interface ArchivedFile extends FileEntry {
  /** The content, compressed before by `deflate`. */
  readonly packed?: Uint8Array;
}

/** The first day that the format knows. */
const day = 0x0021;
const deflated = 8;
const namesInUtf8 = 0x0800;
const madeOnUnix = 0x0314;
const needed = 20;

/** The archive of these files in the order given. Each and all of them have less than 4 GiB. */
export async function zip(files: readonly ArchivedFile[]): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, content, mode = 0o644, packed = await deflate(content) } of files) {
    const name = Buffer.from(path);
    const about = aboutOf(content, packed.length, name.length);
    parts.push(signature(0x0403_4b50), about, name, packed);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(((0o100_000 | mode) << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    directory.push(signature(0x0201_4b50), short(madeOnUnix), about, rest, name);
    offset += 30 + name.length + packed.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x0605_4b50, 0);
  for (const at of [8, 10]) end.writeUInt16LE(files.length, at);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, index, end]);
}

/** The fields that a file's header and its entry in the directory have in common. */
function aboutOf(content: Uint8Array, packedLength: number, nameLength: number): Buffer {
  const bytes = Buffer.alloc(26);
  for (const [index, value] of [needed, namesInUtf8, deflated, 0, day].entries())
    bytes.writeUInt16LE(value, 2 * index);
  for (const [index, value] of [crc32(content), packedLength, content.length].entries())
    bytes.writeUInt32LE(value, 10 + 4 * index);
  bytes.writeUInt16LE(nameLength, 22);
  return bytes;
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function short(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}
