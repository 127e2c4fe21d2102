/**
 * `npm test`: everything CI runs, own set-up included. Stages run one after the other; each is one `node --test` process
 * group. Ends with the line `N passed, N failed`. Arguments filter the test files by substring of their path; one that no
 * path contains is an error with exit code 2, because a run that silently leaves tests out looks like a success.
 */
import { availableParallelism } from "node:os";
import { ClusterPool, poolVariable } from "@klutch/kube-testing";
import { ensureChromium } from "./chromium.ts";
import { ensureEngines } from "./engines.ts";
import { allTestFiles, batchesOf, chooseTestFiles, unmatchedFilters } from "./files.ts";
import { printSummary } from "./summary.ts";
import { runStage, type StageResult } from "./stage.ts";

process.exitCode = await main(process.argv.slice(2));

async function main(filters: readonly string[]): Promise<number> {
  const all = allTestFiles();
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
    await ensureEngines(files.real);
    if (files.real.some((file) => file.includes("browser"))) await ensureChromium();
    // Tests on servers mostly wait, so one more than there are cores keeps the cores busy.
    const concurrency = availableParallelism() + 1;
    await using pool = await ClusterPool.open();
    const env = { [poolVariable]: pool.socket };
    results.push(await runStage("tests on real servers", files.real, { concurrency, env }));
    console.log(`${pool.counts.lent} leases of ${pool.counts.started} clusters.`);
  }
  return printSummary(results);
}
