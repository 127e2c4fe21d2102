/** The tracked and not yet tracked files of the repository, for the checks. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";

/** A file of the repository. */
export interface SourceFile {
  /** Relative to the repository root. */
  readonly path: string;
  readonly text: string;
}

/** Every file that git tracks or would track, sorted by path. */
export function listFiles(): readonly string[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: repositoryRoot,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return [...new Set(list.split("\0"))].filter((path) => path !== "" && isFile(path)).toSorted();
}

/** Reads one of them. */
export function readSource(path: string): SourceFile {
  return { path, text: readFileSync(join(repositoryRoot, path), "utf8") };
}

function isFile(path: string): boolean {
  const absolute = join(repositoryRoot, path);
  return existsSync(absolute) && statSync(absolute).isFile();
}

/** Whether the path is TypeScript that people write. */
export function isHandWritten(path: string): boolean {
  return path.endsWith(".ts") && !path.includes("/gen/");
}

/** Whether only tests load the file: the tests themselves and the helpers beside them. */
export function isTestSupport(path: string): boolean {
  return path.endsWith(".test.ts") || path.includes("/testing/") || path.endsWith("-testing.ts");
}
