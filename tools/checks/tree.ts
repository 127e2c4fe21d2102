/** Reads the repository as the checks and other tools see it: the files that git tracks or would track. */
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";

/** A file of the repository. */
export interface SourceFile {
  /** Relative to the repository root. */
  readonly path: string;
  readonly text: string;
}

/** Each file is read when it is first asked for, and only once. Later changes of files are not seen. */
export interface Tree {
  /** Every file, sorted. */
  readonly paths: ReadonlySet<string>;
  /** Returns the files that `select` accepts, sorted by path. */
  readonly files: (select: (path: string) => boolean) => readonly SourceFile[];
  /** Returns the text of one file; empty when there is none. */
  readonly text: (path: string) => string;
}

/** Opens the tree. Nothing but the list of files is read yet. */
export function openTree(): Tree {
  const list = git("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0");
  const paths = new Set(list.filter((path) => path !== "" && isFile(path)).toSorted());
  const texts = new Map<string, string>();
  const text = (path: string): string => {
    if (!paths.has(path)) return "";
    const found = texts.get(path) ?? readFileSync(join(repositoryRoot, path), "utf8");
    texts.set(path, found);
    return found;
  };
  return {
    paths,
    text,
    files: (select) => [...paths].filter(select).map((path) => ({ path, text: text(path) })),
  };
}

/** Runs git in the repository and returns what it prints. */
export function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: repositoryRoot, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
}

function isFile(path: string): boolean {
  return statSync(join(repositoryRoot, path), { throwIfNoEntry: false })?.isFile() === true;
}

/** Returns true if the path is TypeScript that people write. */
export function isHandWritten(path: string): boolean {
  return /\.tsx?$/.test(path) && !path.includes("/gen/");
}

/**
 * Returns true if only tests load the file: the tests themselves, scenarios (tests that a `*.test.ts` file imports, because they share what it
 * has started), and the helpers beside them.
 */
export function isTestSupport(path: string): boolean {
  return /\.test\.ts$|\.scenario\.ts$|\/testing\/|-testing\.ts$/.test(path);
}

/** Returns the part that a file belongs to, such as `packages/kube` or `tools`. */
export function partOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return ["packages", "apps", "sandbox", "proof"].includes(first) ? `${first}/${second}` : first;
}

/** Returns true if a file or folder has this path. */
export function hasPath(paths: ReadonlySet<string>, path: string): boolean {
  const folder = path.endsWith("/") ? path : `${path}/`;
  return paths.has(path) || [...paths].some((each) => each.startsWith(folder));
}
