/** Finds the test files and tells their kinds apart by name. */
import { globSync } from "node:fs";
import { repositoryRoot } from "../root.ts";

/** Files that one process runs, one after the other: loading the same modules for each of hundreds of small files takes longer than the tests. */
export type Batch = readonly string[];

/** Paths relative to the repository root, sorted. */
export interface TestFiles {
  /** `*.test.ts`: in-process. */
  readonly pure: readonly string[];
  /** `*.real.test.ts`: boot real servers. */
  readonly real: readonly string[];
  /** `*.long.test.ts`: `npm run test:long` runs them, and `npm test` one that is named. */
  readonly long: readonly string[];
}

/** Returns every test file of the repository. */
export function allTestFiles(): TestFiles {
  const files = globSync("{packages,apps,sandbox,proof,tools}/**/*.test.ts", {
    cwd: repositoryRoot,
    exclude: ["**/node_modules/**"],
  });
  return byKind(files.toSorted());
}

/** Tells the kinds of files apart. */
export function byKind(files: readonly string[]): TestFiles {
  const [real, long] = [".real.test.ts", ".long.test.ts"];
  return {
    pure: files.filter((file) => !file.endsWith(real) && !file.endsWith(long)),
    real: files.filter((file) => file.endsWith(real)),
    long: files.filter((file) => file.endsWith(long)),
  };
}

/**
 * Returns the files whose path contains a filter, or all but the long ones without filters. A filter chooses long files only if it matches no
 * other. `unmatched` lists the filters that match nothing.
 */
export function chooseTestFiles(
  { pure, real, long }: TestFiles,
  filters: readonly string[],
): TestFiles & { readonly unmatched: readonly string[] } {
  const short = [...pure, ...real];
  const matching = (files: readonly string[], filter: string): readonly string[] =>
    // A shell's completion begins with `./`, paths of the repository with a name.
    files.filter((file) => file.includes(filter.replace(/^(?:\.\/)+/, "")));
  const found = filters.map(
    (filter) => [matching(short, filter), matching(long, filter)].find((some) => some.length > 0) ?? [],
  );
  const chosen = new Set(filters.length === 0 ? short : found.flat());
  return {
    ...byKind([...short, ...long].filter((file) => chosen.has(file))),
    unmatched: filters.filter((_, index) => found[index]?.length === 0),
  };
}

/** Parts of the paths of files that compute for minutes: each is a batch of its own; the longest start first. */
const slow = [
  "simulation/seeds",
  "simulation/hostile",
  "rotation/crash",
  "simulation/tenant",
  "completion/shells",
  "src/object-any",
  "object/pair-store",
  "checks/checks",
  "simulation/",
  "crash.test",
];
const batchSize = 24;

/** Returns the files whose path contains one of the parts, in the order of the parts. */
function slowest(files: readonly string[], parts: readonly string[]): ReadonlySet<string> {
  return new Set(parts.flatMap((part) => files.filter((file) => file.includes(part))));
}

/** Groups files of pure tests for processes that run several of them. */
export function batchesOf(files: readonly string[]): readonly Batch[] {
  const alone = slowest(files, slow);
  const quick = files.filter((file) => !alone.has(file));
  const count = Math.ceil(quick.length / batchSize);
  // Neighbours load the same modules.
  const batches = Array.from({ length: count }, (_, index) =>
    quick.slice(Math.floor((index * quick.length) / count), Math.floor(((index + 1) * quick.length) / count)),
  );
  return [...[...alone].map((file) => [file]), ...batches];
}

/** Parts of the paths of files on servers that take longest, in the order in which they start. */
const slowOnServers = ["e2e/whole-way", "packages/services/"];

/** Folders whose files on servers share one process, because they share what takes longest to start. */
const sharing = ["packages/services/"];

/**
 * Makes a process of each file on servers, or of those that share one; `whole` are those that start whole installations, `other` the rest,
 * both with the longest first.
 */
export function processesFor(
  files: readonly string[],
): Readonly<Record<"whole" | "other", readonly Batch[]>> {
  const ordered = [...new Set([...slowest(files, slowOnServers), ...files])];
  const batches = [
    ...Map.groupBy(ordered, (file) => sharing.find((folder) => file.startsWith(folder)) ?? file).values(),
  ];
  const isWhole = ([file = ""]: Batch): boolean => file.startsWith("proof/e2e/");
  return {
    whole: batches.filter(isWhole),
    other: batches.filter((batch) => !isWhole(batch)),
  };
}
