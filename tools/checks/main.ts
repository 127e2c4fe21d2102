/**
 * `npm run check`: format, lint, types and the other rules that need no test, in seconds. Words choose single checks;
 * `--counts` prints source and test lines of each part instead, and `--words` records how often each folder uses the phrases of
 * wording.ts. Exits with 1 when a rule is broken, with 2 on a wrong word.
 */
import { checks } from "./checks.ts";
import { countsTable, countLines } from "./counts.ts";
import { chooseChecks, outcomeText, runChecks } from "./run.ts";
import { isHandWritten } from "./source-files.ts";
import { openTree } from "./tree.ts";
import { isProse, recordCounts } from "./wording.ts";

process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  const tree = openTree();
  if (words.includes("--counts")) {
    console.log(countsTable(countLines(tree.files(isHandWritten))));
    return 0;
  }
  if (words.includes("--words")) {
    recordCounts(tree.files(isProse));
    return 0;
  }
  let chosen;
  try {
    chosen = chooseChecks(checks, words);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 2;
  }
  const outcomes = await runChecks(chosen, tree, (outcome) => console.log(outcomeText(outcome)));
  const failed = outcomes.filter(({ problems }) => problems.length > 0).map(({ check }) => check.name);
  if (failed.length === 0) return 0;
  console.log(`\n${failed.length} of ${outcomes.length} checks failed: ${failed.join(", ")}`);
  return 1;
}
