/** Finds the test files and tells the two kinds apart by name. */
import { globSync } from "node:fs";
import { repositoryRoot } from "../root.ts";

/** Paths relative to the repository root, sorted. */
export interface TestFiles {
  /** `*.test.ts`: in-process. */
  readonly pure: readonly string[];
  /** `*.real.test.ts`: boot real servers. */
  readonly real: readonly string[];
}

/** Every test file whose path contains one of `filters`, or all when there are none. */
export function findTestFiles(filters: readonly string[]): TestFiles {
  const wanted = (file: string): boolean =>
    filters.length === 0 || filters.some((filter) => file.includes(filter));
  const all = globSync("{packages,services,apps,tools,bench,e2e}/**/*.test.ts", { cwd: repositoryRoot })
    .filter((file) => !file.includes("node_modules") && wanted(file))
    .toSorted();
  const isReal = (file: string): boolean => file.endsWith(".real.test.ts");
  return { pure: all.filter((file) => !isReal(file)), real: all.filter(isReal) };
}
