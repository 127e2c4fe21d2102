/**
 * `npm test`: everything CI runs, own set-up included; `npm run test:long` is the rest (long.ts). Stages run one after the other; each is one `node --test` process
 * group. Ends with the line `N passed, N failed`. Arguments filter the test files by substring of their path; one that no
 * path contains is an error with exit code 2, because a run that silently leaves tests out looks like a success.
 */
import { availableParallelism } from "node:os";
import {
  allLongFiles,
  allTestFiles,
  batchesOf,
  chooseTestFiles,
  unmatchedFilters,
  withLong,
} from "./files.ts";
import { runReal } from "./real.ts";
import { printSummary } from "./summary.ts";
import { runStage, type StageResult } from "./stage.ts";

process.exitCode = await main(process.argv.slice(2));

async function main(filters: readonly string[]): Promise<number> {
  const all = withLong(allTestFiles(), allLongFiles(), filters);
  const unmatched = unmatchedFilters(all, filters);
  if (unmatched.length > 0) {
    console.error(unmatched.join("\n"));
    return 2;
  }
  const files = chooseTestFiles(all, filters);
  const results: StageResult[] = [];
  if (files.pure.length > 0) {
    const concurrency = availableParallelism();
    const batches = batchesOf(files.pure);
    results.push(await runStage("checks and pure tests", files.pure, { concurrency, batches }));
  }
  if (files.real.length > 0) {
    results.push(await runReal("tests on real servers", files.real));
  }
  return printSummary(results);
}
