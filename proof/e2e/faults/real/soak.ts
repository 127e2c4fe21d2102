/**
 * The fault scenarios for as long as wanted: `node tools/bootstrap.mjs proof/e2e/faults/real/soak.ts -- --seeds 20 --from 1`. One line for
 * each seed; a seed that fails is printed in full and makes the exit code 1. `--actions 80` makes the plans longer, `--long`
 * cuts the leader off from its lease for longer than it lasts, `--verbose` prints what was done.
 */
import { exitCodeOf, optionsOf } from "@klutch/kube-testing";
import { planOf } from "./plan.ts";
import { runSeed, type SeedResult } from "./run-seed.ts";
import { startFixture } from "./fixture.ts";

const defaults = { seeds: 20, from: 1, actions: 40, long: false, verbose: false };

function lineOf(seed: number, result: SeedResult): string {
  const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
  const { actionsMs, settleMs, cleanUpMs, claims, agentWrites, knownWrites, agentEnds } = result;
  return (
    `seed ${seed} held: actions ${seconds(actionsMs)}, settled in ${seconds(settleMs)}, cleaned up in ${seconds(cleanUpMs)}, ` +
    `${claims} claims, ${agentWrites} agent writes (${knownWrites} of known processes), ${agentEnds} agent ends`
  );
}

async function main(): Promise<number> {
  const { seeds, from, actions, long, verbose } = optionsOf(defaults, process.argv.slice(2));
  const failed: number[] = [];
  await using fixture = await startFixture();
  for (let seed = from; seed < from + seeds; seed++) {
    try {
      const result = await runSeed(fixture, planOf(seed, { actions, long }));
      if (verbose) console.log(result.protocol.join("\n"));
      console.log(lineOf(seed, result));
    } catch (error) {
      failed.push(seed);
      console.log(error instanceof Error ? error.message : String(error));
    }
  }
  console.log(failed.length === 0 ? "all seeds held" : `failed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await exitCodeOf(main);
