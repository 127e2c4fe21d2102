/** The machine as this package sees it: variables of the environment, paths, short programs, and the words of its errors. */
import { execFile } from "node:child_process";
import { access, statfs } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const env = process.env;

/** Set to nothing counts as not set. */
const valueOf = (name: string): string | undefined => (env[name] === "" ? undefined : env[name]);

/** Folder that keeps obtained servers between runs: `KLUTCH_CACHE_DIR`, else `klutch` in the user's cache folder. */
export const cacheFolder: string =
  valueOf("KLUTCH_CACHE_DIR") ?? join(valueOf("XDG_CACHE_HOME") ?? join(homedir(), ".cache"), "klutch");

/** Environment that child processes inherit. */
export const inheritedEnvironment: Readonly<Record<string, string | undefined>> = env;

/** Runs a program to its end and returns its output. Throws an error with `stdout`, `stderr` and `code`. */
export const run: typeof execFile.__promisify__ = promisify(execFile);

/** Orders versions. */
export const byNumbers: Intl.Collator = new Intl.Collator("en", { numeric: true });

/** Returns the path of the `main.ts` of one of Klutch's own programs, such as `konnector`. Throws when no workspace package has the name. */
export function ownProgram(name: string): string {
  return join(dirname(fileURLToPath(import.meta.resolve(`@klutch/${name}`))), "main.ts");
}

/** Tells whether the path exists and is visible to this process, or accessible in this mode of `access`. */
export async function exists(path: string, mode?: number): Promise<boolean> {
  return (await access(path, mode).catch((error: unknown) => error)) === undefined;
}

/** Returns the MiB that are free on the disk of a folder. */
export async function freeMiBOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return (bavail * bsize) / 2 ** 20;
}

/** Returns a text that the system gave an error: its code, or the output of the program; empty when it has none. */
export function textOf(error: unknown, name: "code" | "stdout" | "stderr"): string {
  const value: unknown = error instanceof Error ? Object.getOwnPropertyDescriptor(error, name)?.value : "";
  return typeof value === "string" ? value : "";
}

/** Returns the words of an error. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export type EngineErrorCode =
  | "GoMissing"
  | "GoTooOld"
  | "BuildFailed"
  | "ChecksumMismatch"
  | "PackageMissing"
  | "UnsafeFolder"
  | "CannotSwitchUser"
  | "DataMissing"
  | "DiskFull"
  | "ProcessEnded"
  | "NotReady"
  /** This machine cannot have real nodes; the message names what it lacks. */
  | "Unfit"
  /** A program of the machine, such as `ip`, failed. */
  | "CommandFailed"
  /** The namespaces of a node ended. */
  | "NodeEnded";

/** Describes the problem, the server, and the remedy. */
export class EngineError extends Error {
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "EngineError";
    this.code = code;
  }
}
