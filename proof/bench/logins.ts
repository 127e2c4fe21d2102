/**
 * `npm run bench:logins`: how long 50 people wait who log in at the same moment at one backend, as it ships, with a real Dex and a real control
 * plane, and what the processes spend on it. Each round of tenants that are new is followed by one in which they are known. `--people 50`,
 * `--runs 3`, each with servers of its own; `--tree <folder>` measures the backend of another checkout in turn with ours. `--profile <folder>`
 * writes a CPU profile of each backend.
 */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { buildBundle, ownTree } from "./harness/agent-process.ts";
import { cpuSecondsOf, memoryOf } from "./harness/process-memory.ts";
import { runBenchmark } from "./harness/program.ts";
import { formatTable, median, quantile } from "./harness/statistics.ts";
import { type BuiltBackend, type ControlPlane, startControlPlane } from "./logins/control-plane.ts";
import { logInAll, steps } from "./logins/people.ts";

const defaults = { people: 50, runs: 3, tree: "", profile: "" };

/** The figures of one round by their name in the report. */
type Figures = ReadonlyMap<string, number>;

async function main({ people, runs, tree, profile }: typeof defaults): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const trees = [...(tree === "" ? [] : [resolve(tree)]), ownTree];
  const built: BuiltBackend[] = [];
  for (const one of trees) {
    const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-backend-"))).path;
    built.push({ tree: one, bundle: await buildBundle("backend", folder, one) });
  }
  const seen = new Map<string, Figures[]>();
  for (let run = 1; run <= runs; run++) {
    for (const backend of built) {
      const nodeFlags =
        profile === "" ? [] : ["--cpu-prof", `--cpu-prof-dir=${resolve(profile, basename(backend.tree))}`];
      await using controlPlane = await startControlPlane(backend, people, nodeFlags);
      // The code of a server that just started is not compiled yet, and its connections are not open.
      await logInAll(controlPlane.url, 1);
      for (const round of ["new", "known"]) {
        const title = `${basename(backend.tree)}, ${round}`;
        const figures = await measureRound(controlPlane, people);
        seen.set(title, [...(seen.get(title) ?? []), figures]);
        console.log(`run ${run}, ${title}: ${textOf(figures)}`);
      }
      await controlPlane.backend.stop();
    }
  }
  report(seen);
}

async function measureRound({ url, processes }: ControlPlane, people: number): Promise<Figures> {
  const cpuOf = (): number[] => Object.values(processes).map(cpuSecondsOf);
  const before = cpuOf();
  const ownBefore = process.cpuUsage();
  const startedAt = performance.now();
  const logins = await logInAll(url, people);
  const wholeMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(ownBefore);
  const after = cpuOf();
  const took = logins.map(({ tookMs }) => tookMs);
  const memory = memoryOf(processes.backend);
  return new Map([
    ["p50, ms", quantile(took, 0.5)],
    ["p99, ms", quantile(took, 0.99)],
    ["all, ms", wholeMs],
    ...steps.map((step) => [`p50 ${step}, ms`, median(logins.map(({ stepsMs }) => stepsMs[step]))] as const),
    ...Object.keys(processes).map(
      (name, index) => [`CPU ${name}, ms`, ((after[index] ?? 0) - (before[index] ?? 0)) * 1000] as const,
    ),
    ["CPU people, ms", (user + system) / 1000],
    ["RSS backend, MiB", memory.rss],
    ["peak, MiB", memory.peak],
  ]);
}

function textOf(figures: Figures): string {
  return [...figures].map(([name, value]) => `${name} ${value.toFixed(0)}`).join("; ");
}

/** Prints the median of each figure, and the figures of all runs behind it. */
function report(seen: ReadonlyMap<string, readonly Figures[]>): void {
  const names = [...([...seen.values()][0]?.[0]?.keys() ?? [])];
  const rows = names.map((name) => [
    name,
    ...[...seen.values()].map((all) => {
      const values = all.map((figures) => figures.get(name) ?? 0);
      return `${median(values).toFixed(0)} (${values.map((value) => value.toFixed(0)).join(", ")})`;
    }),
  ]);
  console.log(formatTable(["median (all runs)", ...seen.keys()], rows));
}

process.exitCode = await runBenchmark(defaults, main);
