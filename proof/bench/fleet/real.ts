/**
 * App clusters that are real servers, more and more of them at one control plane: how long they need to connect, what a claim waits for, and what
 * konnector and API server keep in memory, beside the same figures of the first size.
 */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownAgent } from "../harness/agent-process.ts";
import { memoryOf } from "../harness/process-memory.ts";
import { describeLoad } from "../harness/program.ts";
import { median, percentiles } from "../harness/statistics.ts";
import { startStopwatch } from "../harness/stopwatch.ts";
import type { FleetControlPlane } from "./control-plane.ts";
import { timedKind } from "./kinds.ts";
import { steadyCost } from "./measure.ts";
import { type ClaimTimes, type RealCluster, startRealCluster, type Upstream } from "./real-cluster.ts";
import { formatReal, type RealRecord, type Ways } from "./real-report.ts";

/** Sizes of a run. */
export interface RealOptions {
  readonly apis: number;
  readonly namespaces: number;
  /** Seconds of measuring at rest. */
  readonly steady: number;
  /** Claims to time at each size. */
  readonly probes: number;
}

/** MiB that an app cluster of real servers takes with its konnector, seen; and what the machine's other programs keep. */
const needed = 700;
const spared = 2_000;

/** Measures one size after the other; ends earlier, and says so, when the machine has no memory for further app clusters. */
export async function measureReal(
  controlPlane: FleetControlPlane,
  sizes: readonly number[],
  options: RealOptions,
): Promise<void> {
  const { apis, namespaces, steady, probes } = options;
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-real-"))).path;
  const agent = await ownAgent(folder);
  const arrivals = stack.use(await startStopwatch(controlPlane.cluster.client, timedKind.type));
  const upstream: Upstream = { controlPlane, arrivals };
  const clusters: RealCluster[] = [];
  const records: RealRecord[] = [];
  console.log(`${apis} APIs, ${namespaces} namespaces, real app clusters`);
  for (const size of sizes.toSorted((one, other) => one - other)) {
    const fresh: RealCluster[] = [];
    const short = missingMemory(process.availableMemory() / 2 ** 20, size - clusters.length);
    if (short > 0) {
      console.log(`${size} app clusters: not measured, ${short.toFixed(0)} MiB of memory are missing`);
      break;
    }
    // One after the other: the start of servers is not measured, and would only make the machine's other programs wait.
    while (clusters.length < size) {
      const name = `real-${String(clusters.length).padStart(4, "0")}`;
      const cluster = stack.use(await startRealCluster({ name, apis, namespaces, folder, agent }, upstream));
      clusters.push(cluster);
      fresh.push(cluster);
    }
    const startedAt = performance.now();
    const kubeconfigs = await Promise.all(fresh.map(({ name }) => controlPlane.bind(name)));
    const loginMs = performance.now() - startedAt;
    const connects = await Promise.all(fresh.map((one, at) => one.connect(kubeconfigs[at] ?? "")));
    console.log(`${size} app clusters are connected; load ${describeLoad()}`);
    const pids = clusters.map(({ agentPid }) => agentPid);
    const alone = waysOf(await timeAlone(clusters, probes));
    const together = waysOf(await timeTogether(clusters, probes));
    const cost = await steadyCost(controlPlane, { pids }, { clusters: size, seconds: steady });
    const memory = pids.map(memoryOf);
    records.push({
      cost,
      came: fresh.length,
      loginMs,
      connect: percentiles(connects),
      alone,
      together,
      konnectorRss: median(memory.map(({ rss }) => rss)),
      konnectorLargest: Math.max(...memory.map(({ rss }) => rss)),
    });
    console.log(`\n${formatReal(records)}\nload ${describeLoad()}\n`);
  }
}

/** Returns the MiB that are missing for `count` further app clusters; 0 when there is enough for them and for others. */
export function missingMemory(available: number, count: number): number {
  return Math.max(0, count * needed + spared - available);
}

/** The first claim of each app cluster warms its connections up. */
async function timeAlone(clusters: readonly RealCluster[], count: number): Promise<readonly ClaimTimes[]> {
  for (const cluster of clusters) await cluster.timeClaim();
  const times: ClaimTimes[] = [];
  for (let number = 0; number < count; number++) {
    const cluster = clusters[number % clusters.length];
    if (cluster !== undefined) times.push(await cluster.timeClaim());
  }
  return times;
}

async function timeTogether(clusters: readonly RealCluster[], count: number): Promise<readonly ClaimTimes[]> {
  const each = Math.ceil(count / clusters.length);
  const all = await Promise.all(
    clusters.map(async (cluster) => {
      const times: ClaimTimes[] = [];
      for (let number = 0; number < each; number++) times.push(await cluster.timeClaim());
      return times;
    }),
  );
  return all.flat();
}

function waysOf(times: readonly ClaimTimes[]): Ways {
  return { up: percentiles(times.map(({ up }) => up)), down: percentiles(times.map(({ down }) => down)) };
}
