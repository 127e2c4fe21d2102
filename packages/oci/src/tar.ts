/** Deterministic tar archives (POSIX ustar): no times, no owners, so equal content has an equal digest. */

/** One regular file. */
export interface TarFile {
  /** At most 100 bytes of ASCII. */
  readonly path: string;
  readonly content: Uint8Array;
}

const blockSize = 512;

/** The archive of `files` in the order given. Throws `RangeError` for a path that ustar's short field cannot hold. */
export function tar(files: readonly TarFile[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const file of files) {
    parts.push(header(file), file.content);
    const rest = file.content.length % blockSize;
    if (rest > 0) parts.push(new Uint8Array(blockSize - rest));
  }
  parts.push(new Uint8Array(2 * blockSize));
  return Buffer.concat(parts);
}

function header(file: TarFile): Uint8Array {
  if (file.path === "" || Buffer.byteLength(file.path) > 100) {
    throw new RangeError(`tar path ${JSON.stringify(file.path)} must have 1 to 100 bytes`);
  }
  const block = Buffer.alloc(blockSize);
  const octal = (value: number, offset: number, width: number): void => {
    block.write(`${value.toString(8).padStart(width - 1, "0")}\0`, offset, "latin1");
  };
  block.write(file.path, 0, "latin1");
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(file.content.length, 124, 12);
  octal(0, 136, 12);
  block.fill(" ", 148, 156);
  block.write("0", 156, "latin1");
  block.write("ustar\0", 257, "latin1");
  block.write("00", 263, "latin1");
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${checksum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
