/** Finds the test files and tells the two kinds apart by name. */
import { globSync } from "node:fs";
import { repositoryRoot } from "../root.ts";
import { nearPaths } from "./near.ts";

/** Paths relative to the repository root, sorted. */
export interface TestFiles {
  /** `*.test.ts`: in-process. */
  readonly pure: readonly string[];
  /** `*.real.test.ts` and `*.long.test.ts`: boot real servers. */
  readonly real: readonly string[];
}

/** Returns every test file that CI runs, sorted by path. */
export function allTestFiles(): readonly string[] {
  return testFiles().filter((file) => !isLong(file));
}

/** Returns every `*.long.test.ts`, which `npm run test:long` runs, sorted by path. */
export function allLongFiles(): readonly string[] {
  return testFiles().filter(isLong);
}

function testFiles(): readonly string[] {
  return globSync("{packages,apps,sandbox,proof,tools}/**/*.test.ts", {
    cwd: repositoryRoot,
    exclude: ["**/node_modules/**"],
  }).toSorted();
}

function isLong(file: string): boolean {
  return file.endsWith(".long.test.ts");
}

/** Adds the long files that a filter names and that nothing short matches, so that each file can be run by its name. */
export function withLong(
  short: readonly string[],
  long: readonly string[],
  filters: readonly string[],
): readonly string[] {
  const missed = filters.map(asWritten).filter((filter) => !short.some((file) => file.includes(filter)));
  return [...short, ...long.filter((file) => missed.some((filter) => file.includes(filter)))];
}

/** Those of `all` whose path contains one of `filters`, or all when there are none. */
export function chooseTestFiles(all: readonly string[], filters: readonly string[]): TestFiles {
  const wanted = filters.map(asWritten);
  const chosen = all.filter((file) => wanted.length === 0 || wanted.some((filter) => file.includes(filter)));
  const isReal = (file: string): boolean => /\.(?:real|long)\.test\.ts$/.test(file);
  // Files with a whole sandbox take longest, so they start first and the others fill the gaps.
  const isWhole = (file: string): boolean => file.startsWith("proof/e2e/");
  const real = chosen.filter(isReal);
  return {
    pure: chosen.filter((file) => !isReal(file)),
    real: [...real.filter(isWhole), ...real.filter((file) => !isWhole(file))],
  };
}

/** These compute for so long that each is a batch of its own, and they start first. */
const long = /simulation|crash\.test|checks\.test/;
const batchSize = 24;

/** Groups files of pure tests for processes that run several of them. */
export function batchesOf(files: readonly string[]): readonly (readonly string[])[] {
  const short = files.filter((file) => !long.test(file));
  const count = Math.ceil(short.length / batchSize);
  // Neighbours load the same modules.
  const batches = Array.from({ length: count }, (_, index) =>
    short.slice(Math.floor((index * short.length) / count), Math.floor(((index + 1) * short.length) / count)),
  );
  return [...files.filter((file) => long.test(file)).map((file) => [file]), ...batches];
}

/** A sentence for each filter that no path contains, with the paths that it may have meant. */
export function unmatchedFilters(all: readonly string[], filters: readonly string[]): readonly string[] {
  return filters
    .filter((filter) => !all.some((file) => file.includes(asWritten(filter))))
    .map((filter) => {
      const near = nearPaths(asWritten(filter), all);
      const hint =
        near.length > 0
          ? `Did you mean ${near.join(" or ")}?`
          : "Give a part of a path, such as packages/kube, or nothing for all tests.";
      return `No test file has "${filter}" in its path. ${hint}`;
    });
}

/** Paths of the repository begin with a name; a shell's completion begins with `./`. */
function asWritten(filter: string): string {
  return filter.replace(/^(?:\.\/)+/, "");
}
