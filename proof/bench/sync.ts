/**
 * `npm run bench:sync`: what a sync agent can do, measured from outside through two real API servers. Any agent that speaks the
 * bind API can be measured: `-- --agent "<command>"`. See sync/options.ts for the options and RESULTS.md for the methods.
 */
import { writeFile } from "node:fs/promises";
import { engineNames, resolveEngines } from "@klutch/engines";
import { seededRandom } from "@klutch/kube-testing";
import { type AgentSpec, ownAgent } from "./harness/agent-process.ts";
import { keepAwake } from "./harness/awake.ts";
import { cpuTicks, describeLoad, describeMachine, stolenPercent } from "./harness/machine.ts";
import { temporaryFolder } from "./harness/fixture.ts";
import { measureBurst, measureDistant, measureLatency } from "./sync/arrivals.ts";
import { measureCalls } from "./sync/calls.ts";
import type { BenchCase } from "./sync/case.ts";
import { measureFloor } from "./sync/floor.ts";
import { formatSummaries, type Measurement, summarise } from "./sync/measurement.ts";
import { measureLargeClaims } from "./sync/memory.ts";
import { type BenchOptions, parseBenchOptions, usage } from "./sync/options.ts";
import { measureSettled } from "./sync/settled.ts";
import { measureSoak } from "./sync/soak.ts";
import { measureWatches } from "./sync/watches.ts";

const cases: readonly BenchCase[] = [
  { serves: ["floor"], run: measureFloor },
  { serves: ["latency"], run: measureLatency },
  { serves: ["burst"], run: measureBurst },
  { serves: ["distant"], run: measureDistant },
  { serves: ["calls"], run: measureCalls },
  { serves: ["initial", "memory", "idle", "restart", "noop"], run: measureSettled },
  { serves: ["memory"], run: measureLargeClaims },
  { serves: ["watches"], once: true, run: measureWatches },
  { serves: ["soak"], once: true, run: measureSoak },
];

interface RunRecord {
  readonly cases: string;
  readonly run: number;
  readonly loadBefore: string;
  readonly seconds: number;
  /** Share of the CPU time that the host did not give although it was wanted. */
  readonly stolenPercent: number;
  readonly error?: string;
  readonly details: Readonly<Record<string, unknown>>;
}

async function main(): Promise<number> {
  let options: BenchOptions;
  try {
    options = parseBenchOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return 2;
  }
  await resolveEngines(engineNames, { progress: (line) => console.log(line) });
  const startedAt = new Date().toISOString();
  const machine = describeMachine();
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder("klutch-bench-agent-"));
  const agent = options.agent ?? (await ownAgent(folder.path));
  const awake = options.awake ? stack.use(await keepAwake()) : undefined;
  const sleep = awake?.isAwake === true ? "processors kept awake" : "processors may sleep";
  console.log(`machine ${machine}; ${sleep}\nagent   ${agent.command}\n`);
  const measurements: Measurement[] = [];
  const records: RunRecord[] = [];
  for (const { one, run } of inTurn(options)) {
    records.push(await runOnce(one, run, { ...options, agent }, measurements));
    if (options.json !== undefined) {
      const report = { startedAt, machine, sleep, options, records, summaries: summarise(measurements) };
      await writeFile(options.json, `${JSON.stringify(report, null, 1)}\n`);
    }
  }
  const failures = records.filter(({ error }) => error !== undefined);
  console.log(`\n${formatSummaries(summarise(measurements))}\n`);
  console.log(
    `machine: ${machine} before, ${describeLoad()} after; ${sleep}; kube-apiserver and etcd with fsync, two of each`,
  );
  console.log(
    `method: ${options.runs} runs, each in a fresh pair of clusters; seed ${options.seed}; see proof/bench/RESULTS.md`,
  );
  for (const { cases: name, run, error } of failures) console.log(`FAILED: ${name}, run ${run}: ${error}`);
  return failures.length === 0 ? 0 : 1;
}

/** Orders the cases in rounds, each case once a round: a machine that changes its speed within minutes does it to all of them. */
function inTurn({ only, runs }: BenchOptions): readonly { readonly one: BenchCase; readonly run: number }[] {
  const wanted = cases.filter(({ serves }) => serves.some((name) => only.includes(name)));
  const repeated = wanted.filter(({ once }) => once !== true);
  const rounds = Array.from({ length: runs }, (_, index) => repeated.map((one) => ({ one, run: index + 1 })));
  const single = wanted.filter(({ once }) => once === true).map((one) => ({ one, run: 1 }));
  return [...rounds.flat(), ...single];
}

/** A failure ends only this run: the others of a long night are worth keeping. */
async function runOnce(
  one: BenchCase,
  run: number,
  { agent, sizes, seed, only }: BenchOptions & { readonly agent: AgentSpec },
  measurements: Measurement[],
): Promise<RunRecord> {
  const names = one.serves.filter((name) => only.includes(name)).join(", ");
  const details: Record<string, unknown> = {};
  const loadBefore = describeLoad();
  const startedAt = performance.now();
  const ticksBefore = cpuTicks();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const record = (): Omit<RunRecord, "error"> => {
    const stolen = Math.round(stolenPercent(ticksBefore, cpuTicks()));
    return { cases: names, run, loadBefore, seconds: seconds(), stolenPercent: stolen, details };
  };
  console.log(`── ${names}, run ${run} (load ${loadBefore})`);
  try {
    await one.run({
      agent,
      sizes,
      random: seededRandom(seed * 1000 + run),
      say: (line) => console.log(`${seconds().toFixed(0).padStart(6)} s  ${line}`),
      report: (metric, value, unit = "", target) => void measurements.push({ metric, unit, value, target }),
      keep: (name, value) => void (details[name] = value),
      wants: (name) => only.includes(name),
    });
    const done = record();
    console.log(
      `${done.seconds.toFixed(0).padStart(6)} s  done; the host withheld ${done.stolenPercent} % of the CPU time`,
    );
    return done;
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    console.error(text);
    return { ...record(), error: text.split("\n").slice(0, 3).join(" ") };
  }
}

process.exitCode = await main();
