/**
 * `npm run bench:generations`: what it costs that a claim shows its status in its own generations, against a claim whose status is copied as
 * it is. The engine's own functions in this process, then the agent as it is shipped between two real API servers. `--rounds 2000`
 * are those in this process, `--claims 50` those whose calls are counted, `--statuses 300` those whose CPU time is taken in `--runs 10`;
 * `--only computing` boots nothing.
 */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom, UsageError } from "@klutch/kube-testing";
import { countCalls, measureAgentTime } from "./generations/agent.ts";
import { type Computing, measureComputing, type Paired } from "./generations/computing.ts";
import { type Treatment, treatments } from "./generations/pairs.ts";
import { ownAgent } from "./harness/agent-process.ts";
import { Claims } from "./harness/claims.ts";
import { startBenchFixture, untilBound } from "./harness/fixture.ts";
import { runBenchmark } from "./harness/program.ts";
import { formatTable, median } from "./harness/statistics.ts";

const defaults = { rounds: 2000, claims: 50, statuses: 300, runs: 10, seed: 1, only: "all" };
type Options = typeof defaults;

const specBytes = 2_000;
/** The highest allowed share of the agent's own work for one object. */
const limitPercent = 3;

async function main(options: Options): Promise<void> {
  const { rounds, seed, only } = options;
  if (only !== "all" && only !== "computing")
    throw new UsageError(`--only knows all and computing, not "${only}"`);
  const computing = measureComputing({ rounds, seed, specBytes });
  const { digests, mark, statusTrip, restart } = computing;
  const row = (what: string, { one, other, ratio }: Paired): readonly string[] => [
    what,
    one.toFixed(1),
    other.toFixed(1),
    ratio.toFixed(3),
  ];
  const rows = [
    row("digests of both objects", digests),
    row("in both of them: the mark of the claim's spec", mark).slice(0, 2),
    row("one status, from the provider's event to the answer", statusTrip),
    row("both objects after a restart", restart),
  ];
  console.log(`\n${formatTable(["µs for each claim, medians", "translated", "copied", "ratio"], rows)}`);
  if (only === "all") await measureAgent(options, computing);
}

async function measureAgent(options: Options, { statusTrip, mark }: Computing): Promise<void> {
  const { claims, statuses, runs, seed } = options;
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-bench-agent-")));
  const fixture = stack.use(await startBenchFixture({ agent: await ownAgent(folder.path) }));
  const contents = { random: seededRandom(seed), bytes: specBytes };
  const bind = async ({ kind }: Treatment): Promise<Claims> => {
    await fixture.bind(kind);
    await untilBound(fixture, kind);
    return stack.use(await Claims.watch(fixture, { contents, type: kind.type }));
  };
  const kinds = [await bind(treatments.translated), await bind(treatments.copied)] as const;
  const header = ["status writes, other writes, reads for each claim", "translated", "copied"];
  console.log(`\n${formatTable(header, await countCalls(kinds, claims))}`);
  const [translated = [], copied = []] = await measureAgentTime(kinds, statuses, runs);
  const ratio = median(translated.map((time, run) => time / (copied[run] ?? Number.NaN)));
  const [one, other] = [median(translated), median(copied)];
  console.log(
    `\nCPU time of the agent for a status: ${one.toFixed(2)} ms translated, ${other.toFixed(2)} ms copied, ratio ${ratio.toFixed(3)}`,
  );
  const micros = statusTrip.more + mark.one;
  const percent = micros / 10 / one;
  console.log(
    `of it computing that only translation needs: ${micros.toFixed(1)} µs, ${percent.toFixed(2)} % (at most ${limitPercent} %: ${percent <= limitPercent ? "yes" : "NO"})`,
  );
}

process.exitCode = await runBenchmark(defaults, main, { awake: true });
