/** Deterministic tar archives (POSIX ustar): no times, and owned by root, so equal content has an equal digest. */

/** One entry of an archive; `path` has at most 100 bytes. */
export type TarEntry =
  | {
      readonly path: string;
      readonly content: Uint8Array;
      /** Permission bits. Default 0o644. */
      readonly mode?: number;
    }
  | { readonly path: string; readonly linkTo: string }
  | {
      readonly path: string;
      readonly folder: true;
      /** Permission bits. Default 0o755. */
      readonly mode?: number;
    };

/** Header of an entry. */
interface Header {
  readonly path: string;
  readonly type: "0" | "2" | "5";
  readonly mode: number;
  readonly size: number;
  readonly linkTo: string;
}

const blockSize = 512;

/** The archive of `entries` in the order given. Throws `RangeError` for a path or link target that ustar's short field cannot hold. */
export function tar(entries: readonly TarEntry[]): Uint8Array {
  return Buffer.concat([...entries.flatMap(tarParts), tarEnd]);
}

/** Returns the parts of an archive for one entry, for archives that are too large to be built in memory. */
export function tarParts(entry: TarEntry): readonly Uint8Array[] {
  const header = block(headerOf(entry));
  if (!("content" in entry)) return [header];
  const rest = entry.content.length % blockSize;
  return [header, entry.content, new Uint8Array(rest > 0 ? blockSize - rest : 0)];
}

/** End of an archive, after the last entry. */
export const tarEnd: Uint8Array = new Uint8Array(2 * blockSize);

function headerOf(entry: TarEntry): Header {
  const { path } = entry;
  if ("linkTo" in entry) return { path, type: "2", mode: 0o777, size: 0, linkTo: entry.linkTo };
  if ("folder" in entry) {
    const slashed = path.endsWith("/") ? path : `${path}/`;
    return { path: slashed, type: "5", mode: entry.mode ?? 0o755, size: 0, linkTo: "" };
  }
  return { path, type: "0", mode: entry.mode ?? 0o644, size: entry.content.length, linkTo: "" };
}

function block({ path, type, mode, size, linkTo }: Header): Uint8Array {
  if (path === "" || Buffer.byteLength(path) > 100)
    throw new RangeError(`tar path ${JSON.stringify(path)} must have 1 to 100 bytes`);
  if (Buffer.byteLength(linkTo) > 100)
    throw new RangeError(`tar link target ${JSON.stringify(linkTo)} must have at most 100 bytes`);
  const bytes = Buffer.alloc(blockSize);
  const octal = (value: number, offset: number, width: number): void => {
    bytes.write(`${value.toString(8).padStart(width - 1, "0")}\0`, offset, "latin1");
  };
  bytes.write(path, 0, "utf8");
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  bytes.fill(" ", 148, 156);
  bytes.write(type, 156, "latin1");
  bytes.write(linkTo, 157, "utf8");
  bytes.write("ustar\0", 257, "latin1");
  bytes.write("00", 263, "latin1");
  const checksum = bytes.reduce((sum, byte) => sum + byte, 0);
  bytes.write(`${checksum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return bytes;
}
