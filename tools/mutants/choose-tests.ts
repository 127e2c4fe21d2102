/** Chooses the tests that can notice a change of a file: those that load it, or start a program that does, nearest first. */
import { dirname, join } from "node:path";
import { importGraph } from "../checks/arrows.ts";
import { partOf, type SourceFile } from "../checks/tree.ts";
import { byKind, type TestFiles } from "../test/files.ts";

/** The importers of each file: those that load it and those that start it as a process. */
export type Importers = ReadonlyMap<string, readonly string[]>;

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
  const indexes = values.filter(({ path }) => path.endsWith("/src/index.ts"));
  const homes = new Map(indexes.map((index) => [index.path, homesOf(index)]));
  const importers = new Map<string, string[]>();
  for (const source of values) {
    const loaded = (graph.get(source.path) ?? []).flatMap((to) => declaredIn(source, to, homes.get(to)));
    for (const to of [...loaded, ...startedBy(source, known)])
      importers.set(to, [...(importers.get(to) ?? []), source.path]);
  }
  return importers;
}

/** Returns the file that declares each name of a package's index. */
function homesOf({ path, text }: SourceFile): ReadonlyMap<string, string> {
  const statements = [...text.matchAll(named)];
  return new Map(
    statements.flatMap(([, names = "", from = ""]) =>
      valuesIn(names).map((name) => [name, join(dirname(path), from)] as const),
    ),
  );
}

/** Returns the files that declare what `source` imports from the package whose index is `index`; `index` itself for what it does not name. */
function declaredIn(
  { text }: SourceFile,
  index: string,
  homes: ReadonlyMap<string, string> | undefined,
): readonly string[] {
  const specifier = `@klutch/${index.split("/")[1]}`;
  const imports = [...text.matchAll(named)].filter(([, , from]) => from === specifier);
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
export function testsFor(file: string, importers: Importers): TestFiles {
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
    );
  return byKind(tests.map(([path]) => path));
}

/** Splits pure tests into runs: those of the file's own folder first, because they catch most. */
export function groupsOf(file: string, tests: readonly string[]): readonly (readonly string[])[] {
  const near = tests.filter((test) => ring(test, file) === 0);
  return [near, tests.slice(near.length)].filter(({ length }) => length > 0);
}

function ring(test: string, file: string): number {
  if (dirname(test) === dirname(file)) return 0;
  if (partOf(test) === partOf(file)) return 1;
  // Tests of the whole catch more than those of tools, which only read flags or bundle the file.
  if (test.startsWith("tools/")) return 4;
  return test.startsWith("proof/") ? 3 : 2;
}

/** Finds the `main.ts` files that a file names: by the words of a path, or by `ownProgram`, whose argument may be computed. */
function startedBy({ path, text }: SourceFile, known: ReadonlySet<string>): readonly string[] {
  const words = [...text.matchAll(/(?:"[\w./-]+",\s*)*"[\w./-]*main\.ts"/g)].flatMap(([found]) => {
    const relative = found.replaceAll(/",\s*"/g, "/").slice(1, -1);
    return [relative, join(dirname(path), relative)];
  });
  const programs = [...text.matchAll(/(?<!function )\bownProgram\((?:"([\w-]+)")?/g)].flatMap(
    ([, name = "[^/]+"]) => {
      const main = new RegExp(`^(?:apps|sandbox)/${name}/src/main\\.ts$`);
      return [...known].filter((each) => main.test(each));
    },
  );
  return [...words, ...programs].filter((each) => known.has(each) && each !== path);
}
