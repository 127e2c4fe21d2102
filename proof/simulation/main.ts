/**
 * `npm run faults`: many seeds of the simulation. `-- --seeds 10000 --from 1`, or `-- --seed 17 --story` to replay one; `--hostile` for a
 * provider that means harm, `--keep-exports` when it leaves its exports as they are, `--taken-over` with an agent in foreign hands besides; `--liar` for an app cluster that means harm;
 * `--restored` for a control plane that comes back from a backup; `--naive-store` for agents that know nothing of digests.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { exitCodeOf, optionsOf } from "@klutch/kube-testing";
import { simulate } from "./simulate.ts";
import { simulateHostile } from "./simulate-hostile.ts";
import { simulateRestored } from "./simulate-restored.ts";
import { simulateTenant } from "./simulate-tenant.ts";
import type { SimulationResult } from "./stage.ts";

const batchSize = 100;
/** `seed` is none, and `worker` runs a batch of seeds as one of several processes. */
const defaults = {
  seeds: 10_000,
  from: 1,
  seed: 0,
  story: false,
  hostile: false,
  "taken-over": false,
  "keep-exports": false,
  liar: false,
  restored: false,
  "naive-store": false,
  worker: false,
};
type Options = typeof defaults;

function run(seed: number, options: Options): Promise<SimulationResult> {
  if (options.restored) return simulateRestored(seed);
  if (options.liar) return simulateTenant(seed);
  if (options["taken-over"]) return simulateHostile(seed, { takenOver: true });
  if (options.hostile) return simulateHostile(seed, { withExports: !options["keep-exports"] });
  return simulate(seed, { naiveStore: options["naive-store"] });
}

async function main(): Promise<number> {
  const options = optionsOf(defaults, process.argv.slice(2));
  const { seed: only, from, seeds, worker } = options;
  if (only > 0) return runOne(only, options);
  if (!worker) return runMany(from, seeds);
  for (let seed = from; seed < from + seeds; seed++) {
    const { broken, writes, leftBehindMs } = await run(seed, options);
    process.send?.({ seed, broken, writes, leftBehindMs });
  }
  return 0;
}

async function runOne(seed: number, options: Options): Promise<number> {
  const { broken, story, writes, lasted } = await run(seed, options);
  if (options.story) for (const line of story) console.log(line);
  for (const line of broken) console.log(`BROKEN ${line}`);
  console.log(
    `seed ${seed}: ${broken.length} broken promises, ${writes} writes, ${(lasted / 1000).toFixed(0)} virtual s`,
  );
  return broken.length === 0 ? 0 : 1;
}

type SeedReport = Pick<SimulationResult, "seed" | "broken" | "writes" | "leftBehindMs">;

/**
 * Runs all seeds, on all processors. A process lives for one batch: killed agents stay behind in its memory, because their listeners wait
 * for ever.
 */
async function runMany(from: number, seeds: number): Promise<number> {
  const started = performance.now();
  const end = from + seeds;
  let next = from;
  const totals = { done: 0, writes: 0, failed: 0, leftBehindMs: 0 };
  const onReport = ({ seed, broken, writes, leftBehindMs }: SeedReport): void => {
    totals.done++;
    totals.leftBehindMs = Math.max(totals.leftBehindMs, leftBehindMs);
    totals.writes += writes;
    if (broken.length > 0) totals.failed++;
    for (const line of broken) console.log(`seed ${seed} BROKEN ${line}`);
    if (totals.done % 100 === 0)
      console.log(`${totals.done} seeds, ${totals.failed} failed, ${totals.writes} agent writes`);
  };
  const worker = async (): Promise<void> => {
    while (next < end) {
      const first = next;
      next = Math.min(end, next + batchSize);
      // The last one counts of an option that comes twice.
      const batch = ["--worker", `--from=${first}`, `--seeds=${next - first}`];
      const child = fork(import.meta.filename, [...process.argv.slice(2), ...batch]);
      child.on("message", onReport);
      await once(child, "exit");
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  const seconds = (performance.now() - started) / 1000;
  const { done, failed, writes, leftBehindMs } = totals;
  console.log(
    `${done} seeds, ${failed} failed, ${writes} agent writes, ${seconds.toFixed(0)} s; orphans were gone ${(leftBehindMs / 1000).toFixed(0)} virtual s after the last fault at the latest`,
  );
  return failed === 0 && done === seeds ? 0 : 1;
}

process.exitCode = await exitCodeOf(main);
