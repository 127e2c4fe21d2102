/** Packs an executable with its licences as it is handed out: tar for Unix, zip for Windows. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { klutchVersion } from "@klutch/api";
import { tar } from "@klutch/oci";
import { type ZippableFile, zipSync } from "fflate";
import type { Platform } from "./executables-platforms.ts";
import type { FileEntry } from "./files.ts";

const compress = promisify(gzip);

/** Names of the commands. */
export const executableNames = ["kubectl-bind", "klutch"] as const;

/** One of them. */
export type ExecutableName = (typeof executableNames)[number];

/** Returns the name of the file that is started. */
export function programName(name: ExecutableName, { os }: Pick<Platform, "os">): string {
  return os === "windows" ? `${name}.exe` : name;
}

/** Returns the name of the file that is downloaded. */
export function archiveName(
  name: ExecutableName,
  { os, architecture }: Pick<Platform, "os" | "architecture">,
): string {
  return `${name}_${klutchVersion}_${os}_${architecture}${os === "windows" ? ".zip" : ".tar.gz"}`;
}

/** Packs the program under its name, and these files. Only regular files, because krew unpacks nothing else. Equal content gives equal bytes. */
export async function packExecutable(
  name: ExecutableName,
  platform: Pick<Platform, "os">,
  program: Uint8Array,
  licences: readonly FileEntry[],
): Promise<Uint8Array> {
  const files: readonly FileEntry[] = [
    { path: programName(name, platform), content: program, mode: 0o755 },
    ...licences,
  ];
  return platform.os === "windows" ? zip(files) : compress(tar(files));
}

/** Has the first day that the format knows instead of times, and permissions as Unix has them. */
function zip(files: readonly FileEntry[]): Uint8Array {
  const unix = 3;
  const entries = files.map(({ path, content, mode = 0o644 }): [string, ZippableFile] => {
    const attrs = ((0o100_000 | mode) << 16) >>> 0;
    return [path, [content, { os: unix, attrs }]];
  });
  // A time without a zone is the same day everywhere.
  return zipSync(Object.fromEntries(entries), { mtime: "1980-01-01T00:00:00" });
}
