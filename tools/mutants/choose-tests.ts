/** Chooses the tests that can notice a change of a file: those that load it, or start a program that does, nearest first. */
import { dirname, join } from "node:path";
import { importGraph } from "../checks/arrows.ts";
import type { SourceFile } from "../checks/tree.ts";

/** The importers of each file: those that load it and those that start it as a process. */
export type Importers = ReadonlyMap<string, readonly string[]>;

/** Tests of one file by kind, each nearest first. */
export interface Tests {
  readonly pure: readonly string[];
  readonly real: readonly string[];
  readonly long: readonly string[];
}

const typeOnly = /\b(?:import|export)\s+type\s*\{[^}]*\}\s*from\s*"[^"]+"/g;
const named = /\b(?:import|export)\s*\{([^}]*)\}\s*from\s*"([^"]+)"/g;

/**
 * Inverts the import graph, with an arrow from each file to the programs that it starts. Types have no behaviour, and a name that comes by a
 * package's `index.ts` leads to the file that declares it; so most files reach a few others instead of all of each package.
 */
export function importersOf(sources: readonly SourceFile[]): Importers {
  const known = new Set(sources.map(({ path }) => path));
  const values = sources.map(({ path, text }) => ({ path, text: text.replace(typeOnly, "") }));
  const graph = importGraph(values);
  const homes = new Map(values.filter(({ path }) => path.endsWith("/src/index.ts")).map(homesOfNames));
  const arrows = values.flatMap((source) => {
    const loaded = (graph.get(source.path) ?? []).flatMap((to) => declaredIn(source, to, homes.get(to)));
    return [...loaded, ...startedBy(source, known)].map((to) => ({ from: source.path, to }));
  });
  const byTarget = Map.groupBy(arrows, ({ to }) => to);
  return new Map([...byTarget].map(([to, group]) => [to, group.map(({ from }) => from)]));
}

function homesOfNames({ path, text }: SourceFile): readonly [string, ReadonlyMap<string, string>] {
  const homes = [...text.matchAll(named)].flatMap(([, names = "", from = ""]) =>
    valuesIn(names).map((name) => [name, join(dirname(path), from)] as const),
  );
  return [path, new Map(homes)];
}

/** The files that declare what `source` imports from the package whose index is `index`; `index` itself for what it does not name. */
function declaredIn(
  source: SourceFile,
  index: string,
  homes: ReadonlyMap<string, string> | undefined,
): readonly string[] {
  const imports = [...source.text.matchAll(named)].filter(
    ([, , from]) => from === `@klutch/${index.split("/")[1]}`,
  );
  if (homes === undefined || imports.length === 0) return [index];
  return imports.flatMap(([, names = ""]) => valuesIn(names)).map((name) => homes.get(name) ?? index);
}

function valuesIn(names: string): readonly string[] {
  const words = names.split(",").map((name) => name.trim().split(" as ")[0] ?? "");
  return words.filter((name) => name !== "" && !name.startsWith("type "));
}

/**
 * Returns the tests that reach the file: first those of its folder, then of its part, then others by the length of the way, and those in
 * `proof/` and `tools/` last. Tests in `tools/checks` are left out, because they hold the texts of the tree against rules, not its behaviour, and those
 * of this folder, whose examples look like imports.
 */
export function testsFor(file: string, importers: Importers): Tests {
  const distances = new Map([[file, 0]]);
  // A Map's iterator also visits entries that are added meanwhile, so this is a breadth-first search.
  for (const [path, distance] of distances)
    for (const importer of importers.get(path) ?? [])
      if (!distances.has(importer)) distances.set(importer, distance + 1);
  const tests = [...distances]
    .filter(([path]) => path.endsWith(".test.ts") && !/^tools\/(?:checks|mutants)\//.test(path))
    .toSorted(
      ([left, leftWay], [right, rightWay]) =>
        ring(left, file) - ring(right, file) || leftWay - rightWay || (left < right ? -1 : 1),
    )
    .map(([path]) => path);
  const isReal = (path: string): boolean => path.endsWith(".real.test.ts");
  const isLong = (path: string): boolean => path.endsWith(".long.test.ts");
  return {
    pure: tests.filter((path) => !isReal(path) && !isLong(path)),
    real: tests.filter(isReal),
    long: tests.filter(isLong),
  };
}

/** Groups pure tests for processes: the file's own folder alone, because it catches most, then `size` at a time. */
export function groupsOf(file: string, tests: readonly string[], size = 24): readonly (readonly string[])[] {
  const near = tests.filter((test) => ring(test, file) === 0);
  const far = tests.slice(near.length);
  const groups = Array.from({ length: Math.ceil(far.length / size) }, (_, index) =>
    far.slice(index * size, (index + 1) * size),
  );
  return near.length === 0 ? groups : [near, ...groups];
}

function ring(test: string, file: string): number {
  if (dirname(test) === dirname(file)) return 0;
  if (test.split("/", 2).join() === file.split("/", 2).join()) return 1;
  // Tests of the whole catch more than those of tools, which only read flags or bundle the file.
  if (test.startsWith("tools/")) return 4;
  return test.startsWith("proof/") ? 3 : 2;
}

/** The `main.ts` files that a file names: by the words of a path, or by `ownProgram`, whose argument may be computed. */
function startedBy({ path, text }: SourceFile, known: ReadonlySet<string>): readonly string[] {
  const byWords = [...text.matchAll(/((?:"[\w./-]+",\s*)*)"([\w./-]*main\.ts)"/g)].flatMap(
    ([, words = "", last = ""]) => {
      const named = [...[...words.matchAll(/"([^"]+)"/g)].map(([, word = ""]) => word), last].join("/");
      return [named, join(dirname(path), named)];
    },
  );
  const byName = [...text.matchAll(/(?<!function )\bownProgram\((?:"([\w-]+)")?/g)].flatMap(([, name]) =>
    [...known].filter(
      (each) =>
        /^(?:apps|sandbox)\/[^/]+\/src\/main\.ts$/.test(each) &&
        (name === undefined || each.split("/")[1] === name),
    ),
  );
  return [...byWords, ...byName].filter((each) => known.has(each) && each !== path);
}
