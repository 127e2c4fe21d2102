/** Reads which libraries a program asks for from its file (ELF, 64 bits, little-endian: all that is built for here). */

const programHeaderSize = 56;
const segment = { load: 1, dynamic: 2 } as const;
const tag = { end: 0n, needed: 1n, strings: 5n } as const;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Names such as `libc.so.6`. Empty for a file that is no such program or library, or needs none. */
export function neededLibraries(file: Uint8Array): readonly string[] {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const is64LittleEndian = bytes.length > 64 && bytes.toString("latin1", 0, 6) === "\x7fELF\x02\x01";
  if (!is64LittleEndian) return [];
  const segments = segmentsOf(bytes);
  const dynamic = segments.find(({ type }) => type === segment.dynamic);
  if (dynamic === undefined) return [];
  const entries = entriesIn(bytes, dynamic);
  const strings = entries.find(([key]) => key === tag.strings)?.[1];
  const table = strings === undefined ? undefined : offsetOf(segments, Number(strings));
  if (table === undefined) return [];
  return entries
    .filter(([key]) => key === tag.needed)
    .map(([, value]) => {
      const start = table + Number(value);
      return bytes.toString("latin1", start, bytes.indexOf(0, start));
    });
}

function segmentsOf(bytes: Buffer): readonly Segment[] {
  const start = Number(bytes.readBigUInt64LE(32));
  return Array.from({ length: bytes.readUInt16LE(56) }, (_, index) => {
    const at = start + index * programHeaderSize;
    return {
      type: bytes.readUInt32LE(at),
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      address: Number(bytes.readBigUInt64LE(at + 16)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    };
  });
}

/** Returns the pairs of tag and value before the end mark. */
function entriesIn(bytes: Buffer, { offset, size }: Segment): readonly (readonly [bigint, bigint])[] {
  const all = Array.from({ length: Math.floor(size / 16) }, (_, index) => {
    const at = offset + index * 16;
    return [bytes.readBigUInt64LE(at), bytes.readBigUInt64LE(at + 8)] as const;
  });
  const end = all.findIndex(([key]) => key === tag.end);
  return end < 0 ? all : all.slice(0, end);
}

/** Returns the offset in the file of an address of the running program. */
function offsetOf(segments: readonly Segment[], address: number): number | undefined {
  const found = segments.find(
    (each) => each.type === segment.load && address >= each.address && address < each.address + each.size,
  );
  return found === undefined ? undefined : address - found.address + found.offset;
}
