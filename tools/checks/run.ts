/** Runs checks and says what came of them, in words for a terminal. */
import { setImmediate } from "node:timers/promises";
import type { Check } from "./check.ts";
import type { Tree } from "./tree.ts";

/** What running one check came to. */
export interface Outcome {
  readonly check: Check;
  readonly problems: readonly string[];
  readonly seconds: number;
}

/** Runs all of them at once and gives `report` each outcome as soon as it is known. A check that throws has that as its problem. */
export async function runChecks(
  checks: readonly Check[],
  tree: Tree,
  report: (outcome: Outcome) => void,
): Promise<readonly Outcome[]> {
  return Promise.all(
    checks.map(async (check) => {
      // One after the other for those that do not wait, so that each has its own time.
      await setImmediate();
      const started = performance.now();
      const problems = await problemsOf(check, tree);
      const outcome = { check, problems, seconds: (performance.now() - started) / 1000 };
      report(outcome);
      return outcome;
    }),
  );
}

async function problemsOf(check: Check, tree: Tree): Promise<readonly string[]> {
  try {
    return await check.find(tree);
  } catch (error) {
    return [`the check could not run: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Prints one line for a rule that holds; for a broken one the rule, its problems and the remedy. */
export function outcomeText({ check, problems, seconds }: Outcome): string {
  const state = problems.length === 0 ? "ok    " : "FAILED";
  const line = `${state} ${check.name.padEnd(10)} ${seconds.toFixed(1).padStart(5)} s`;
  if (problems.length === 0) return line;
  const indented = problems.flatMap((problem) => problem.split("\n")).map((text) => `    ${text}`);
  return [`${line}   ${check.rule}`, ...indented, `    What to do: ${check.advice}`].join("\n");
}

/** The checks that the words name, or all without words; a word that names none is thrown as a sentence. */
export function chooseChecks(checks: readonly Check[], words: readonly string[]): readonly Check[] {
  const unknown = words.find((word) => !checks.some(({ name }) => name === word));
  if (unknown !== undefined) {
    const names = checks.map(({ name }) => name).join(", ");
    throw new Error(`There is no check called "${unknown}". The checks are ${names}.`);
  }
  return words.length === 0 ? checks : checks.filter(({ name }) => words.includes(name));
}
