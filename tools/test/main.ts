/**
 * `npm test`: everything CI runs, own set-up included; `npm run test:long` is the rest (long.ts). Ends with the line `N passed, N failed`.
 * Arguments filter the test files by substring of their path; one that no path contains is an error with exit code 2, because a run that
 * silently leaves tests out looks like a success.
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
  // Tests on servers mostly wait. Pure tests compute, and fill the time in between.
  const stages = [
    ...(files.pure.length > 0 ? [runPure(files.pure)] : []),
    ...(files.real.length > 0 ? [runReal("tests on real servers", files.real)] : []),
  ];
  return printSummary(await Promise.all(stages));
}

function runPure(files: readonly string[]): Promise<StageResult> {
  const concurrency = availableParallelism();
  return runStage("checks and pure tests", files, {
    concurrency,
    batches: batchesOf(files),
    isPatient: true,
  });
}
