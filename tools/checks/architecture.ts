/** Reads docs/architecture.md: its tables are the rules for imports, and its paths must exist. */
import { codeWords, tableRows } from "../generate/page.ts";

/** The page that holds the rules. */
export const architecturePage = "docs/architecture.md";

/** Holds the page's rules for imports. */
export interface Architecture {
  /** Names that the files of each part may import besides their own part: parts, third-party packages, and parts beside it by path. */
  readonly imports: ReadonlyMap<string, ReadonlySet<string>>;
  readonly houses: readonly House[];
}

/** The rooms of one part, from top to bottom. A file may import from its own room and from those below. */
export interface House {
  /** Folder such as `apps/konnector/src`; paths of rooms are relative to it. */
  readonly folder: string;
  /** A room is one or more folders (ending in `/`) or files. The last one has the files beside the rooms. */
  readonly rooms: readonly (readonly string[])[];
}

const otherLibraries = ["certificates", "data-servers", "engines", "kube-testing", "nodes"];

/** The key of `imports` for what tests and their helpers may import besides. */
export const testKey = "*.test.ts";

/** Reads the tables: a row of three cells is a part and its imports, a section "Inside …" has the rooms of a part. */
export function readArchitecture(text: string): Architecture {
  const parts = tableRows(text).flatMap(([first = "", , names]) => {
    const [folder] = codeWords(first);
    return folder === undefined || names === undefined ? [] : [{ folder, names: names.split(/[,;]/) }];
  });
  const packages = parts.filter(({ folder }) => folder.startsWith("packages/"));
  const libraries = [...packages.map(({ folder }) => folder.slice("packages/".length)), ...otherLibraries];
  const expand = (name: string): readonly string[] =>
    name.trim() === "every library" ? libraries : [name.trim()].filter((each) => each !== "–");
  const sections = text.split(/^## /m).filter((section) => section.startsWith("Inside `"));
  return {
    imports: new Map(parts.map(({ folder, names }) => [folder, new Set(names.flatMap(expand))])),
    houses: sections.map((section) => ({
      folder: codeWords(section)[0] ?? "",
      rooms: [...tableRows(section).map(([first = ""]) => codeWords(first)), ["./"]].filter(
        ({ length }) => length > 0,
      ),
    })),
  };
}

/** Lists the paths of the repository and the rooms that the page names and that do not exist. */
export function missingPaths(text: string, exists: (path: string) => boolean): readonly string[] {
  const roots = /^(?:packages|apps|services|sandbox|proof|tools|docs|designs|deploy|configuration)\//;
  const named = codeWords(text).filter((word) => roots.test(word) && !/[<*{ ]/.test(word));
  const rooms = readArchitecture(text).houses.flatMap(({ folder, rooms: all }) =>
    all.slice(0, -1).flatMap((room) => room.map((path) => `${folder}/${path}`)),
  );
  return [...new Set([...named, ...rooms])]
    .filter((path) => !exists(path))
    .map((path) => `${architecturePage}: ${path} does not exist`);
}
