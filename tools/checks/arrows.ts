/** Finds the imports of files, and holds them against docs/architecture.md: the table of parts, and the order of the rooms inside of the larger parts. */
import { dirname, join } from "node:path";
import {
  type Architecture,
  architecturePage,
  type House,
  missingPaths,
  readArchitecture,
  testKey,
} from "./architecture.ts";
import type { Finders } from "./check.ts";
import { hasPath, isHandWritten, isTestSupport, partOf, type SourceFile } from "./tree.ts";

export const arrowChecks: Finders = {
  arrows: ({ files, text }) => {
    const architecture = readArchitecture(text(architecturePage));
    return files(isHandWritten).flatMap((file) =>
      importsOf(file.text)
        .flatMap((specifier) => violation(architecture, file.path, specifier) ?? [])
        .map((problem) => `${file.path}: ${problem}`),
    );
  },
  architecture: ({ paths, text }) => missingPaths(text(architecturePage), (path) => hasPath(paths, path)),
  rooms: ({ files, text }) => {
    const graph = importGraph(files(isHandWritten));
    return readArchitecture(text(architecturePage)).houses.flatMap((house) => roomViolations(house, graph));
  },
};

/** Returns why `path` may not import `specifier`, or undefined if it may. */
export function violation({ imports }: Architecture, path: string, specifier: string): string | undefined {
  const part = partOf(path);
  const allowed = imports.get(part);
  if (allowed === undefined) return `${part} has no row in ${architecturePage}`;
  if (specifier.startsWith("node:")) return undefined;
  if (specifier.startsWith(".")) {
    const target = partOf(join(dirname(path), specifier));
    return target === part || allowed.has(target)
      ? undefined
      : `relative import leaves ${part} for ${target}`;
  }
  const name = specifier.startsWith("@klutch/")
    ? specifier.slice("@klutch/".length)
    : packageNameOf(specifier);
  if (name === "telemetry" || allowed.has(name)) return undefined;
  if (isTestSupport(path) && imports.get(testKey)?.has(name) === true) return undefined;
  return `${part} may not import ${specifier}`;
}

function packageNameOf(specifier: string): string {
  const words = specifier.split("/");
  return words.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Lists the module specifiers of the static and dynamic imports and re-exports in `text`. */
export function importsOf(text: string): string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\b[^;"'`]*?from\s*["']([^"']+)["']|\bimport\s*\(\s*["']([^"']+)["']|(?:^|\n)import\s+["']([^"']+)["']/g;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

/** Returns the files that each file imports, of those in `sources`; imports of packages lead to their `src/index.ts`. */
export function importGraph(sources: readonly SourceFile[]): ReadonlyMap<string, readonly string[]> {
  const known = new Set(sources.map(({ path }) => path));
  const targetOf = (path: string, specifier: string): string | undefined => {
    if (specifier.startsWith(".")) return join(dirname(path), specifier);
    if (!specifier.startsWith("@klutch/")) return undefined;
    const index = `${specifier.slice("@klutch/".length)}/src/index.ts`;
    return ["packages", "apps", "sandbox", "proof"]
      .map((root) => `${root}/${index}`)
      .find((each) => known.has(each));
  };
  return new Map(
    sources.map(({ path, text }) => {
      const targets = importsOf(text).flatMap((specifier) => targetOf(path, specifier) ?? []);
      return [path, [...new Set(targets)].filter((target) => known.has(target))];
    }),
  );
}

/** Lists the imports of one part that lead upwards, and its files without a room. Tests and their helpers stand outside and look into every room. */
export function roomViolations(
  house: House,
  graph: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const prefix = `${house.folder}/`;
  const inside = [...graph].filter(([from]) => from.startsWith(prefix) && !isTestSupport(from));
  return inside.flatMap(([from, targets]) => {
    const room = roomOf(house, from.slice(prefix.length));
    if (room < 0) return [`${from} is in no room; add its folder to ${architecturePage}`];
    return targets
      .filter((to) => to.startsWith(prefix))
      .filter((to) => roomOf(house, to.slice(prefix.length)) < room)
      .map((to) => `${from} imports ${to}, which is above it`);
  });
}

/** Returns the position of the room with the longest path that fits; -1 when none does. `path` is relative to the house. */
export function roomOf({ rooms }: House, path: string): number {
  const fits = (room: string): boolean =>
    room === "./" ? !path.includes("/") : path === room || (room.endsWith("/") && path.startsWith(room));
  const longest = rooms
    .flat()
    .filter(fits)
    .toSorted((left, right) => right.length - left.length)[0];
  return longest === undefined ? -1 : rooms.findIndex((room) => room.includes(longest));
}
