/**
 * `npm run bench:sync`: what a sync agent can do, measured from outside through two real API servers. Any agent that speaks the
 * bind API can be measured: `-- --agent "<command>"`. See sync/options.ts for the options and RESULTS.md for the methods.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engineNames, resolveEngines } from "@klutch/engines";
import { seededRandom } from "@klutch/kube-testing";
import { type AgentSpec, ownAgent } from "./harness/agent-process.ts";
import { keepAwake } from "./harness/awake.ts";
import { cpuTicks, describeLoad, describeMachine, stolenPercent } from "./harness/machine.ts";
import { burstCase } from "./sync/burst.ts";
import { callsCase } from "./sync/calls.ts";
import type { BenchCase } from "./sync/case.ts";
import { distantCase } from "./sync/distant.ts";
import { floorCase } from "./sync/floor.ts";
import { latencyCase } from "./sync/latency.ts";
import { formatSummaries, type Measurement, summarise } from "./sync/measurement.ts";
import { largeClaimsCase } from "./sync/memory.ts";
import { type BenchOptions, parseBenchOptions, usage } from "./sync/options.ts";
import { settledCase } from "./sync/settled.ts";
import { soakCase } from "./sync/soak.ts";
import { watchesCase } from "./sync/watches.ts";

const cases: readonly BenchCase[] = [
  floorCase,
  latencyCase,
  burstCase,
  distantCase,
  callsCase,
  settledCase,
  largeClaimsCase,
  watchesCase,
  soakCase,
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
  const folder = await mkdtemp(join(tmpdir(), "klutch-bench-agent-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const agent = options.agent ?? (await ownAgent(folder));
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

/** Each case once, then each a second time, and so on: a machine that changes its speed within minutes does it to all of them. */
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
      report: (measurement) => void measurements.push(measurement),
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
