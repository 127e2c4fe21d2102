/**
 * `npm test`: everything CI runs, own set-up included; `npm run test:long` is the rest (long.ts). Ends with the line `N passed, N failed`.
 * Arguments filter the test files by substring of their path; one that no path contains is an error with exit code 2, because a run that
 * silently leaves tests out looks like a success.
 */
import { availableParallelism } from "node:os";
import { inspect } from "node:util";
import { allTestFiles, batchesOf, chooseTestFiles } from "./files.ts";
import { lanesOf, printSummary, runStage, type StageResult } from "./stage.ts";

process.exitCode = await main(process.argv.slice(2));

async function main(filters: readonly string[]): Promise<number> {
  const { pure, real, long, unmatched } = chooseTestFiles(allTestFiles(), filters);
  for (const filter of unmatched)
    console.error(
      `No test file has "${filter}" in its path. Give a part of a path, such as packages/kube, or nothing for all tests.`,
    );
  if (unmatched.length > 0) return 2;
  const onServers = [...real, ...long];
  // Tests on servers mostly wait. Pure tests compute, and fill the time in between.
  const lanes = lanesOf(availableParallelism(), batchesOf(pure));
  const computing =
    pure.length > 0 ? runStage("checks and pure tests", lanes, { isPatient: true }) : undefined;
  const serving = onServers.length > 0 ? runOnServers(onServers, computing) : undefined;
  const results = await Promise.all([computing, serving]);
  return printSummary(results.filter((result) => result !== undefined));
}

/** Loads what boots servers only when there are tests on servers. Servers that cannot be obtained count as one failed test. */
async function runOnServers(
  files: readonly string[],
  computing: Promise<unknown> | undefined,
): Promise<StageResult> {
  const name = "tests on real servers";
  try {
    const { runReal } = await import("./real.ts");
    return await runReal(name, files, computing);
  } catch (error) {
    console.log(`\nFAILED ${name}: they could not run\n${inspect(error)}\n`);
    return { name, records: [{ name, file: name, outcome: "failed", milliseconds: 0 }], seconds: 0 };
  }
}
