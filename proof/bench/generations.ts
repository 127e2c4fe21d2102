/**
 * `npm run bench:generations`: what it costs that a claim shows its status in its own generations, against a claim whose status is copied as
 * it is. The engine's own functions in this process, then the agent as it is shipped between two real API servers. `--rounds 2000`
 * are those in this process, `--claims 50` those whose calls are counted, `--statuses 300` those whose CPU time is taken in `--runs 10`;
 * `--only computing` boots nothing.
 */
import { seededRandom, UsageError } from "@klutch/kube-testing";
import { measureAgentTime } from "./generations/agent-time.ts";
import { bindTreatment } from "./generations/bound-kind.ts";
import { type Calls, countCalls, type Happening } from "./generations/calls.ts";
import { type Computing, measureComputing } from "./generations/computing.ts";
import type { Paired } from "./generations/paired.ts";
import { treatments } from "./generations/statuses.ts";
import { ownAgent } from "./harness/agent-process.ts";
import { runBenchmark } from "./harness/program.ts";
import { median } from "./harness/statistics.ts";
import { formatTable } from "./harness/table.ts";
import { startBenchFixture, temporaryFolder } from "./harness/fixture.ts";

const defaults = { rounds: 2000, claims: 50, statuses: 300, runs: 10, seed: 1, only: "all" };
type Options = typeof defaults;

const specBytes = 2_000;
const callsInARound = 20;
/** The highest allowed share of the agent's own work for one object. */
const limitPercent = 3;

async function main(options: Options): Promise<void> {
  const { rounds, seed, only } = options;
  if (only !== "all" && only !== "computing")
    throw new UsageError(`--only knows all and computing, not "${only}"`);
  const computing = measureComputing({ rounds, calls: callsInARound, seed, specBytes });
  console.log(`\n${formatComputing(computing)}`);
  if (only === "all") await measureAgent(options, computing);
}

async function measureAgent({ claims, statuses, runs, seed }: Options, computing: Computing): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder("klutch-bench-agent-"));
  const fixture = stack.use(await startBenchFixture({ agent: await ownAgent(folder.path) }));
  const random = seededRandom(seed);
  const kinds = [
    stack.use(await bindTreatment(fixture, treatments.translated, random)),
    stack.use(await bindTreatment(fixture, treatments.copied, random)),
  ];
  console.log(`\n${formatCalls(await countCalls(kinds, claims))}`);
  const [translated = [], copied = []] = await measureAgentTime(kinds, statuses, runs);
  const ratio = median(translated.map((time, run) => time / (copied[run] ?? Number.NaN)));
  const [one, other] = [median(translated), median(copied)];
  console.log(
    `\nCPU time of the agent for a status: ${one.toFixed(2)} ms translated, ${other.toFixed(2)} ms copied, ratio ${ratio.toFixed(3)}`,
  );
  console.log(`all runs: ${describe(translated)}; ${describe(copied)}`);
  const micros = computing.statusTrip.more + computing.mark.one;
  const percent = micros / 10 / one;
  console.log(
    `of it computing that only translation needs: ${micros.toFixed(1)} µs, ${percent.toFixed(2)} % (at most ${limitPercent} %: ${percent <= limitPercent ? "yes" : "NO"})`,
  );
}

function formatComputing({ translation, digests, mark, statusTrip, restart }: Computing): string {
  const row = (what: string, { one, other, more, ratio }: Paired): readonly string[] => [
    what,
    one.toFixed(1),
    other.toFixed(1),
    more.toFixed(1),
    ratio.toFixed(3),
  ];
  return formatTable(
    ["µs for each claim, medians", "translated", "copied", "more", "ratio"],
    [
      row("a status from one side's form to the other's", translation).with(4, ""),
      row("digests of both objects", digests),
      row("in both of them: the mark of the claim's spec", mark).with(2, "").with(3, "").with(4, ""),
      row("one status, from the provider's event to the answer", statusTrip),
      row("both objects after a restart", restart),
    ],
  );
}

function formatCalls(happenings: readonly Happening[]): string {
  const cell = ({ statusWrites, otherWrites, reads }: Calls): string =>
    [statusWrites, otherWrites, reads].map((count) => count.toFixed(2)).join(", ");
  return formatTable(
    ["status writes, other writes, reads for each claim", "translated", "copied"],
    happenings.map(({ what, calls }) => [what, ...calls.map(cell)]),
  );
}

function describe(times: readonly number[]): string {
  return times.map((time) => time.toFixed(2)).join(", ");
}

process.exitCode = await runBenchmark(defaults, main, { awake: true });
