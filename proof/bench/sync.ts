/**
 * `npm run bench:sync`: what a sync agent can do, measured from outside through two real API servers. Any agent that speaks the
 * bind API can be measured: `-- --agent "<command>"`. See sync/case.ts for the options and RESULTS.md for the methods.
 */
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "@klutch/kube-testing";
import { ownAgent } from "./harness/agent-process.ts";
import { cpuTicks, describeLoad, describeMachine, runBenchmark, stolenPercent } from "./harness/program.ts";
import { measureBurst, measureDistant, measureFloor, measureLatency } from "./sync/arrivals.ts";
import { measureCalls } from "./sync/calls.ts";
import { type BenchCase, type BenchContext, defaults, namesOf, sizesOf } from "./sync/case.ts";
import { formatSummaries, type Measurement, summarise } from "./sync/measurement.ts";
import { measureLargeClaims } from "./sync/memory.ts";
import { measureSettled } from "./sync/settled.ts";
import { measureSoak } from "./sync/soak.ts";
import { measureTimeline } from "./sync/timeline.ts";
import { measureWatches } from "./sync/watches.ts";

const cases: readonly BenchCase[] = [
  { serves: ["floor"], run: measureFloor },
  { serves: ["latency"], run: measureLatency },
  { serves: ["timeline"], run: measureTimeline },
  { serves: ["burst"], run: measureBurst },
  { serves: ["distant"], run: measureDistant },
  { serves: ["calls"], run: measureCalls },
  { serves: ["initial", "memory", "idle", "restart", "noop"], run: measureSettled },
  { serves: ["memory"], run: measureLargeClaims },
  { serves: ["watches"], once: true, run: measureWatches },
  { serves: ["soak"], once: true, run: measureSoak },
];

/** One run of one case. */
interface RunRecord {
  readonly name: string;
  readonly run: number;
  readonly seconds: number;
  /** Share of the CPU time that the host did not give although it was wanted. */
  readonly stolenPercent: number;
  readonly measurements: readonly Measurement[];
  readonly error: string | undefined;
}

type Common = Pick<BenchContext, "setUp" | "sizes" | "wants">;

async function main(options: typeof defaults): Promise<boolean> {
  const { runs, seed, json } = options;
  const only = namesOf(options);
  await using folder = await mkdtempDisposable(join(tmpdir(), "klutch-bench-agent-"));
  const agent = options.agent === "" ? await ownAgent(folder.path) : options.agent;
  console.log(`agent   ${agent}\n`);
  const setUp = { agent, marksAtAdmission: options["marks-at-admission"] };
  const common: Common = { setUp, sizes: sizesOf(options), wants: (name) => only.includes(name) };
  const records: RunRecord[] = [];
  const wanted = cases.filter(({ serves }) => serves.some(common.wants));
  // In rounds, each case once a round: a machine that changes its speed within minutes does it to all of them.
  for (let run = 1; run <= runs; run++)
    for (const one of wanted.filter(({ once = false }) => run === 1 || !once)) {
      records.push(await runOnce(one, run, seed, common));
      const report = { machine: describeMachine(), options, records };
      if (json !== "") await writeFile(json, `${JSON.stringify(report, null, 1)}\n`);
    }
  console.log(`\n${formatSummaries(summarise(records.flatMap(({ measurements }) => measurements)))}\n`);
  console.log(
    `method: ${runs} runs, each in a fresh pair of clusters with fsync; seed ${seed}; see proof/bench/RESULTS.md`,
  );
  const failures = records.filter(({ error }) => error !== undefined);
  for (const { name, run, error } of failures) console.log(`FAILED: ${name}, run ${run}: ${error}`);
  return failures.length === 0;
}

/** A failure ends only this run: the others of a long night are worth keeping. */
async function runOnce(one: BenchCase, run: number, seed: number, common: Common): Promise<RunRecord> {
  const name = one.serves.filter(common.wants).join(", ");
  const measurements: Measurement[] = [];
  const startedAt = performance.now();
  const ticks = cpuTicks();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const say = (line: string): void => console.log(`${seconds().toFixed(0).padStart(6)} s  ${line}`);
  console.log(`── ${name}, run ${run} (load ${describeLoad()})`);
  let error: string | undefined;
  try {
    await one.run({
      ...common,
      random: seededRandom(seed * 1000 + run),
      say,
      report: (metric, value, unit = "", target) => void measurements.push({ metric, unit, value, target }),
    });
  } catch (thrown) {
    console.error(thrown);
    error = String(thrown).split("\n").slice(0, 3).join(" ");
  }
  const stolen = Math.round(stolenPercent(ticks, cpuTicks()));
  say(`done; the host withheld ${stolen} % of the CPU time`);
  return { name, run, seconds: seconds(), stolenPercent: stolen, measurements, error };
}

process.exitCode = await runBenchmark(defaults, main, { awake: true, wordsFor: "only" });
