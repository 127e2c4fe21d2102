/** Case `initial`: the agent starts where all claims exist already, while others use the clusters. */
import { setTimeout as sleep } from "node:timers/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { callsBetween, describeCalls, isOfSync } from "../harness/calls.ts";
import { freeLeases } from "../harness/leases.ts";
import { untilQuiet } from "../harness/quiet.ts";
import { formatPercentiles, percentiles } from "../harness/statistics.ts";
import { type Stopwatch, startStopwatch } from "../harness/stopwatch.ts";
import { widgets } from "../harness/widget.ts";
import { within } from "../harness/within.ts";
import type { BenchWorld } from "../harness/world.ts";
import type { BenchContext } from "./case.ts";
import type { ClaimRef } from "./claims.ts";
import { startEditor } from "./edits.ts";
import { startNeighbour } from "./neighbour.ts";

/** The world after its claims have been made. */
export interface Settled {
  readonly world: BenchWorld;
  readonly refs: readonly ClaimRef[];
}

/** Starts the agent and waits until everything is upstream and quiet; reports figures only when `initial` was asked for. */
export async function measureInitial(context: BenchContext, { world, refs }: Settled): Promise<void> {
  const timeoutMs = context.sizes.timeoutMinutes * 60_000;
  await using onProvider = await startStopwatch(world.provider.cluster.client, widgets);
  await freeLeases(world.consumer.cluster.client);
  const before = await Promise.all([world.consumer.calls(), world.provider.calls()]);
  const isMeasured = context.wants("initial");
  const bystanders = isMeasured ? await startBystanders(context, world, onProvider) : undefined;
  const startedAt = performance.now();
  const arrivals = refs.map(async (ref) => {
    const at = await onProvider.seen(ref.upstreamKey);
    bystanders?.synced.push(ref);
    return at - startedAt;
  });
  await world.agent.start();
  const arrivedMs = await within(Promise.all(arrivals), timeoutMs, "all claims to arrive", world.problem);
  const seconds = Math.max(...arrivedMs) / 1000;
  context.say(`all ${refs.length} upstream ${seconds.toFixed(1)} s after the start of the agent`);
  await bystanders?.stop();
  const quietSeconds = ((await untilQuiet(world, timeoutMs)) - startedAt) / 1000;
  const after = await Promise.all([world.consumer.calls(), world.provider.calls()]);
  const calls = before.flatMap((from, side) => {
    const to = after[side];
    return to === undefined ? [] : callsBetween(from, to).byKind.filter(isOfSync);
  });
  context.say(`calls for each claim: ${describeCalls(calls, refs.length)}`);
  if (!isMeasured) return;
  const metric = `initial sync of ${refs.length}`;
  context.report({ metric, unit: "s", value: seconds, target: { atMost: 90 } });
  context.keep("initial", { seconds, quietSeconds, calls });
}

interface Bystanders {
  /** What the user may edit. */
  readonly synced: ClaimRef[];
  /** Ends it and reports its figures. */
  stop(): Promise<void>;
}

async function startBystanders(
  { random, say, report, keep }: BenchContext,
  world: BenchWorld,
  onProvider: Stopwatch,
): Promise<Bystanders> {
  const neighbour = await startNeighbour(world);
  const synced: ClaimRef[] = [];
  const editor = startEditor(world, onProvider, synced, random);
  const ownDelay = monitorEventLoopDelay({ resolution: 5 });
  ownDelay.enable();
  // Connections and compilers warm up.
  await sleep(1000);
  return {
    synced,
    async stop() {
      const edits = await within(editor.stop(), 120_000, "the last edits to arrive", world.problem);
      const others = await neighbour.stop();
      const own = ownDelay.percentile(99) / 1e6;
      for (const [where, sample] of [
        ["app cluster", others.consumer],
        ["control plane", others.provider],
      ] as const) {
        const value = percentiles(sample);
        say(`another client, ${where}: ${formatPercentiles(value)}`);
        const metric = `another client meanwhile, ${where}, p99`;
        report({ metric, unit: "ms", value: value.p99, target: { atMost: 100 } });
      }
      keep("bystanders", { edits, others, ownEventLoopP99Ms: own });
      if (edits.length === 0) {
        say("the backlog was gone before a user could edit: no figure for edits meanwhile");
        return;
      }
      const value = percentiles(edits);
      say(
        `user edits meanwhile: ${formatPercentiles(value)}; event loop of the benchmark p99 ${own.toFixed(0)} ms`,
      );
      const metric = "user edit during the backlog, p99";
      report({ metric, unit: "ms", value: value.p99, target: { atMost: 150 } });
    },
  };
}
