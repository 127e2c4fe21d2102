/** Defines a check, a rule of this repository that a program can hold, and runs several. */
import { setImmediate } from "node:timers/promises";
import type { Tree } from "./tree.ts";

/** One rule. `npm run check` runs it, and `npm test` does. */
export interface Check {
  /** One word; chooses the check on the command line. */
  readonly name: string;
  /** The rule as a sentence. */
  readonly rule: string;
  /** Remedy for a problem. */
  readonly advice: string;
  /** Lists the violations, one text each; empty if there are none. */
  readonly find: (tree: Tree) => readonly string[] | Promise<readonly string[]>;
}

/** Searches for violations, by the names of rules. */
export type Finders = Readonly<Record<string, Check["find"]>>;

/** Runs all of them at once, prints each as soon as its outcome is known, and returns the names of those that failed. */
export async function runChecks(
  checks: readonly Check[],
  tree: Tree,
  print: (text: string) => void,
): Promise<readonly string[]> {
  const failed: string[] = [];
  await Promise.all(
    checks.map(async (check) => {
      // One after the other for those that do not wait, so that each has its own time.
      await setImmediate();
      const started = performance.now();
      const problems = await problemsOf(check, tree);
      print(outcomeText(check, problems, (performance.now() - started) / 1000));
      if (problems.length > 0) failed.push(check.name);
    }),
  );
  return failed;
}

/** A check that throws has that as its problem. */
async function problemsOf(check: Check, tree: Tree): Promise<readonly string[]> {
  try {
    return await check.find(tree);
  } catch (error) {
    return [`the check could not run: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Returns one line for a rule that holds; for a broken one the rule, its problems and the remedy. */
export function outcomeText(
  { name, rule, advice }: Check,
  problems: readonly string[],
  seconds: number,
): string {
  const state = problems.length === 0 ? "ok    " : "FAILED";
  const line = `${state} ${name.padEnd(12)} ${seconds.toFixed(1).padStart(5)} s`;
  if (problems.length === 0) return line;
  const indented = problems.flatMap((problem) => problem.split("\n")).map((text) => `    ${text}`);
  return [`${line}   ${rule}`, ...indented, `    What to do: ${advice}`].join("\n");
}
