/** How an executable is handed out: tar for Unix, zip for Windows, with its licences. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { klutchVersion } from "@klutch/api";
import { tarEnd, tarParts } from "@klutch/oci";
import { type ArchivedFile, deflate, zip } from "./executables-zip.ts";
import type { Platform } from "./executables-platforms.ts";

const compress = promisify(gzip);

/** Names of the commands. */
export const executableNames = ["kubectl-bind", "klutch"] as const;

/** One of them. */
export type ExecutableName = (typeof executableNames)[number];

/** Of the file that is started. */
export function programName(name: ExecutableName, { os }: Pick<Platform, "os">): string {
  return os === "windows" ? `${name}.exe` : name;
}

/** Of the file that is downloaded. */
export function archiveName(
  name: ExecutableName,
  { os, architecture }: Pick<Platform, "os" | "architecture">,
): string {
  return `${name}_${klutchVersion}_${os}_${architecture}${os === "windows" ? ".zip" : ".tar.gz"}`;
}

/** A program that takes long to compress, and is handed out under several names. */
export interface PackedProgram {
  readonly platform: Pick<Platform, "os">;
  readonly content: Uint8Array;
  /** As a zip file has it, or as a part of a tar file. */
  readonly packed: Uint8Array;
}

/** Compresses a program. */
export async function packProgram(
  platform: Pick<Platform, "os">,
  content: Uint8Array,
): Promise<PackedProgram> {
  const isZip = platform.os === "windows";
  const [, ...body] = tarParts({ path: "program", content });
  return { platform, content, packed: await (isZip ? deflate(content) : compress(Buffer.concat(body))) };
}

/** The archive with the program under its name, and these files. Only regular files, because krew unpacks nothing else. */
export async function packExecutable(
  name: ExecutableName,
  { platform, content, packed }: PackedProgram,
  licences: readonly ArchivedFile[],
): Promise<Uint8Array> {
  const path = programName(name, platform);
  if (platform.os === "windows") return zip([{ path, content, packed, mode: 0o755 }, ...licences]);
  // What was compressed in parts is one stream to whoever reads it (RFC 1952, section 2.2).
  const [header = tarEnd] = tarParts({ path, content, mode: 0o755 });
  const rest = Buffer.concat([...licences.flatMap(tarParts), tarEnd]);
  return Buffer.concat([await compress(header), packed, await compress(rest)]);
}
