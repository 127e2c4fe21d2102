/**
 * `npm run bench:chains -- --chains 50 --seed 1 --at-once 3`: lives of databases while provider, function and broker are killed. Prints
 * kills, what was lost and what was made twice; exit code 1 when anything was.
 */
import type { ChainResult } from "../e2e/faults/chains/judge.ts";
import { planOf, programs } from "../e2e/faults/chains/plan.ts";
import { killsIn, runChains } from "../e2e/faults/chains/run.ts";
import { startFixture } from "../e2e/faults/chains/fixture.ts";
import { runBenchmark } from "./harness/program.ts";

const defaults = { chains: 50, seed: 1, "at-once": 3 };

function lineOf({ name, seconds, lost }: ChainResult): string {
  return `${name}: ${seconds.toFixed(0)} s${lost.length === 0 ? "" : `; LOST ${lost.join("; ")}`}`;
}

async function main(options: typeof defaults): Promise<boolean> {
  const { chains, seed, "at-once": atOnce } = options;
  await using fixture = await startFixture();
  const result = await runChains(fixture, planOf(seed, chains), {
    atOnce,
    onEnd: (one) => console.log(lineOf(one)),
  });
  const { lost, double, undone, orphaned, kills, missed, seconds } = result;
  for (const [what, all] of Object.entries({ lost, double, undone, orphaned }))
    for (const one of all) console.log(`${what}: ${one}`);
  const each = programs.map((program) => `${kills[program]} ${program}`).join(", ");
  console.log(
    `${chains} chains, seed ${seed}, ${atOnce} at once: ${killsIn(result)} kills (${each}; ${missed} found it down already), ` +
      `${lost.length} lost, ${double.length} double, ${undone.length} undone, ${orphaned.length} orphaned, ${seconds.toFixed(0)} s`,
  );
  const isGood = [lost, double, orphaned].every((all) => all.length === 0);
  if (!isGood) {
    for (const program of programs) console.log(`── ${program}\n${fixture.log(program)}`);
  }
  return isGood;
}

process.exitCode = await runBenchmark(defaults, main);
