/** Reads which libraries a program asks for from its file (ELF, 64 bits, little-endian: all that is built for here). */

const programHeaderSize = 56;
const segmentType = { load: 1, dynamic: 2 } as const;
const tag = { end: 0, needed: 1, strings: 5 } as const;

/** Names such as `libc.so.6`. Empty for a file that is no such program or library, or needs none. */
export function neededLibraries(file: Uint8Array): readonly string[] {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length <= 64 || bytes.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") return [];
  const numberAt = (at: number): number => Number(bytes.readBigUInt64LE(at));
  const segments = Array.from({ length: bytes.readUInt16LE(56) }, (_, index) => {
    const at = numberAt(32) + index * programHeaderSize;
    const [offset, address, size] = [numberAt(at + 8), numberAt(at + 16), numberAt(at + 32)];
    return { type: bytes.readUInt32LE(at), offset, address, size };
  });
  const dynamic = segments.find(({ type }) => type === segmentType.dynamic);
  const needed: number[] = [];
  let strings: number | undefined;
  for (let index = 0; dynamic !== undefined && index < Math.floor(dynamic.size / 16); index++) {
    const at = dynamic.offset + index * 16;
    const [key, value] = [numberAt(at), numberAt(at + 8)];
    if (key === tag.end) break;
    if (key === tag.needed) needed.push(value);
    if (key === tag.strings) strings = value;
  }
  // The names are in a table that is known by its address in the running program.
  const table = segments.find(
    ({ type, address, size }) =>
      type === segmentType.load && strings !== undefined && strings >= address && strings < address + size,
  );
  if (strings === undefined || table === undefined) return [];
  const offset = strings - table.address + table.offset;
  return needed.map((name) => bytes.toString("latin1", offset + name, bytes.indexOf(0, offset + name)));
}
