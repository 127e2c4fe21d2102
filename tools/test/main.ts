/**
 * `npm test`: everything CI runs, own set-up included. Stages run one after the other; each is one `node --test` process
 * group. Ends with the line `N passed, N failed`. Arguments filter the test files by substring of their path.
 */
import { availableParallelism } from "node:os";
import { ensureChromium } from "./chromium.ts";
import { ensureEngines } from "./engines.ts";
import { findTestFiles } from "./files.ts";
import { printSummary } from "./summary.ts";
import { runStage, type StageResult } from "./stage.ts";

const filters = process.argv.slice(2);
const files = findTestFiles(filters);
const results: StageResult[] = [];

if (files.pure.length > 0) {
  results.push(await runStage("checks and pure tests", files.pure, { concurrency: availableParallelism() }));
}
if (files.real.length > 0) {
  await ensureEngines(files.real);
  if (files.real.some((file) => file.includes("browser"))) await ensureChromium();
  results.push(await runStage("tests on real servers", files.real, { concurrency: 2 }));
}
process.exitCode = printSummary(results);
