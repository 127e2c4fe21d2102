/**
 * `npm run test:mutants`: changes the source of what ships in one place at a time, in a copy of the tree, and says which test notices. A change
 * that no test notices is a rule without a test, or one that makes no difference.
 */
import { parseArgs } from "node:util";
import { exitCodeOf, UsageError, wholeNumber } from "@klutch/kube-testing";
import { openTree, type SourceFile, type Tree } from "../checks/tree.ts";
import { chooseMutants, defaultParts, type Mutant, mutantById } from "./choose-mutants.ts";
import { copyTree } from "./copy.ts";
import { Judge } from "./judge.ts";
import { diffOf, survivorsText, table, type Verdict } from "./report.ts";

const flags = {
  seed: { type: "string", default: "1" },
  count: { type: "string", default: "120" },
  part: { type: "string", multiple: true },
  only: { type: "string", multiple: true },
  list: { type: "boolean", default: false },
  real: { type: "boolean", default: false },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof flags }>>["values"];

process.exitCode = await exitCodeOf(main);

async function main(): Promise<number> {
  const { values } = parseArgs({ options: flags });
  const tree = openTree();
  const mutants = chosen(tree.files(isSource), values);
  if (values.list) {
    for (const mutant of mutants) console.log(diffOf(mutant));
    return 0;
  }
  const verdicts = await verdictsOn(mutants, tree, values);
  if (verdicts.length < mutants.length)
    console.log(`\nStopped after ${verdicts.length} of ${mutants.length} mutants.`);
  console.log(`\n${survivorsText(verdicts)}\n\n${table(verdicts)}`);
  return verdicts.length === mutants.length ? 0 : 1;
}

function isSource(path: string): boolean {
  return path.endsWith(".ts");
}

function chosen(sources: readonly SourceFile[], values: Values): readonly Mutant[] {
  const { part: parts = defaultParts, only = [] } = values;
  if (only.length > 0) return only.map((id) => mutantById(sources, id));
  const unknown = parts.find((part) => !sources.some(({ path }) => path.startsWith(`${part}/src/`)));
  if (unknown !== undefined)
    throw new UsageError(`--part ${unknown} has no src folder; such as packages/sync has`);
  const [seed, count] = [wholeNumber("seed", values.seed), wholeNumber("count", values.count)];
  return chooseMutants(sources, { seed, count, parts });
}

async function verdictsOn(
  mutants: readonly Mutant[],
  tree: Tree,
  { real }: Values,
): Promise<readonly Verdict[]> {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stop.abort());
  const verdicts: Verdict[] = [];
  await using copy = await copyTree([...tree.paths]);
  const judge = new Judge(copy, tree.files(isSource), real, stop.signal);
  try {
    for (const mutant of mutants) {
      const verdict = await judge.judge(mutant);
      if (verdict === undefined) break;
      verdicts.push(verdict);
      const { id, seconds, outcome, caughtBy } = verdict;
      const words = outcome === "survived" ? "SURVIVED" : `caught by ${caughtBy}`;
      console.log(`${verdicts.length}/${mutants.length} ${id} (${seconds.toFixed(1)} s): ${words}`);
    }
  } catch (error) {
    // The verdicts so far took hours, so they are printed all the same.
    console.error(error instanceof Error ? error.message : error);
  }
  return verdicts;
}
