/** Takes the signature from a Windows program before something is put into it. */

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
