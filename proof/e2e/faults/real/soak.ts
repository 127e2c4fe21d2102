/**
 * The fault scenarios for as long as wanted: `node tools/bootstrap.mjs proof/e2e/faults/real/soak.ts -- --seeds 20 --from 1`. One line for
 * each seed; a seed that fails is printed in full and makes the exit code 1. `--actions 80` makes the plans longer, `--long`
 * cuts the leader off from its lease for longer than it lasts, `--verbose` prints what was done.
 */
import { parseArgs } from "node:util";
import { exitCodeOf, wholeNumber } from "@klutch/kube-testing";
import { planOf } from "./plan.ts";
import { runSeed, type SeedResult } from "./run-seed.ts";
import { startFixture } from "./fixture.ts";

const options = {
  seeds: { type: "string", default: "20" },
  from: { type: "string", default: "1" },
  actions: { type: "string", default: "40" },
  long: { type: "boolean", default: false },
  verbose: { type: "boolean", default: false },
} as const;

function lineOf(seed: number, result: SeedResult): string {
  const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
  const { actionsMs, settleMs, cleanUpMs, claims, agentWrites, knownWrites, agentEnds } = result;
  return (
    `seed ${seed} held: actions ${seconds(actionsMs)}, settled in ${seconds(settleMs)}, cleaned up in ${seconds(cleanUpMs)}, ` +
    `${claims} claims, ${agentWrites} agent writes (${knownWrites} of known processes), ${agentEnds} agent ends`
  );
}

async function main(): Promise<number> {
  const args = process.argv.slice(2).filter((argument) => argument !== "--");
  const { values } = parseArgs({ args, options });
  const seeds = wholeNumber("seeds", values.seeds);
  const from = wholeNumber("from", values.from);
  const actions = wholeNumber("actions", values.actions);
  const failed: number[] = [];
  await using fixture = await startFixture();
  for (let seed = from; seed < from + seeds; seed++) {
    try {
      const result = await runSeed(fixture, planOf(seed, { actions, long: values.long }));
      if (values.verbose) console.log(result.protocol.join("\n"));
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
