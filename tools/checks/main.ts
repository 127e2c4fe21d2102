/**
 * `npm run check`: format, lint, types and the other rules that need no test, in seconds. Words choose single checks;
 * `--counts` prints source and test lines of each part instead, and `--words` records how often each folder uses the phrases of
 * wording.ts. Exits with 1 when a rule is broken, with 2 on a wrong word.
 */
import { runChecks } from "./check.ts";
import { checks } from "./checks.ts";
import { countsTable, countLines } from "./counts.ts";
import { isHandWritten, openTree } from "./tree.ts";
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
  const names = checks.map(({ name }) => name);
  const unknown = words.find((word) => !names.includes(word));
  if (unknown !== undefined) {
    console.error(`There is no check called "${unknown}". The checks are ${names.join(", ")}.`);
    return 2;
  }
  const chosen = checks.filter(({ name }) => words.length === 0 || words.includes(name));
  const failed = await runChecks(chosen, tree, (text) => console.log(text));
  if (failed.length === 0) return 0;
  console.log(`\n${failed.length} of ${chosen.length} checks failed: ${failed.join(", ")}`);
  return 1;
}
