/** Writes and checks `checksums.txt`: what every file of a release must be, in the form that `sha256sum --check` reads. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { digestOfFile } from "@klutch/engines";
import { replaceFile } from "./disk-full.ts";
import { ReleaseError } from "./errors.ts";
import { filesIn } from "./files.ts";

/** Name of the file in a release's folder. */
export const checksumsName = "checksums.txt";

/** SHA-256 in hexadecimal digits by path, which is below the release's folder and has slashes. */
export type Checksums = ReadonlyMap<string, string>;

/** Writes the checksums of everything in the folder, a line for each file, by path. */
export async function writeChecksums(folder: string): Promise<void> {
  const lines = [...(await checksumsOf(folder))].map(([path, sum]) => `${sum}  ${path}\n`);
  await replaceFile(join(folder, checksumsName), lines.join(""));
}

/**
 * Reads `checksums.txt`, from any source. Throws `ReleaseError` with the line's number for anything that is no checksum of a file below the
 * release's folder, and for a file that is named twice.
 */
export function parseChecksums(text: string): Checksums {
  const sums = new Map<string, string>();
  for (const [index, line] of text.replace(/\n$/, "").split("\n").entries()) {
    const [, sum, path] = /^([0-9a-f]{64}) {2}(\S.*)$/.exec(line) ?? [];
    const where = `${checksumsName}, line ${index + 1}`;
    if (sum === undefined || path === undefined)
      throw new ReleaseError(`${where}: is ${shown(line)}, expected a SHA-256 sum, two spaces and a path`);
    if (path.includes("\\") || path.split("/").some((part) => ["", ".", ".."].includes(part)))
      throw new ReleaseError(`${where}: the path ${shown(path)} is not one below the release's folder`);
    if (sums.has(path)) throw new ReleaseError(`${where}: the path ${shown(path)} is there twice`);
    sums.set(path, sum);
  }
  return sums;
}

/** Holds a folder against its `checksums.txt`. Throws `ReleaseError` that names each file which is another, missing, or too many. */
export async function checkChecksums(folder: string): Promise<Checksums> {
  const path = join(folder, checksumsName);
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new ReleaseError(`${path} cannot be read; is this a release's folder?`, { cause });
  });
  const expected = parseChecksums(text);
  const problems = differences(expected, await checksumsOf(folder));
  if (problems.length > 0)
    throw new ReleaseError(`${folder} is not what its ${checksumsName} says:\n  ${problems.join("\n  ")}`);
  return expected;
}

/** Lists the differences, a line for each file, by path. */
function differences(expected: Checksums, found: Checksums): readonly string[] {
  const paths = [...new Set([...expected.keys(), ...found.keys()])].toSorted();
  return paths.flatMap((path) => {
    const [want, have] = [expected.get(path), found.get(path)];
    if (want === have) return [];
    if (have === undefined) return [`${shown(path)} is missing`];
    if (want === undefined) return [`${shown(path)} is there, but has no checksum`];
    return [`${shown(path)} has the checksum ${have}, expected ${want}`];
  });
}

/** Quotes a path or line of a stranger, bounded. */
function shown(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}

/** Computes the checksum of every file in the folder but `checksums.txt`, by path. */
export async function checksumsOf(folder: string): Promise<Checksums> {
  const sums = new Map<string, string>();
  for (const path of await filesIn(folder))
    if (path !== checksumsName) sums.set(path, await digestOfFile(join(folder, path), "sha256"));
  return sums;
}
