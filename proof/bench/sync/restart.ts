/** Case `restart`: the agent dies by SIGKILL and is started again over claims that are all in sync. */
import { callsBetween, describeCalls, isWrite, totalOf } from "../harness/calls.ts";
import { freeLeases } from "../harness/leases.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { untilQuiet } from "../harness/quiet.ts";
import { startStopwatch } from "../harness/stopwatch.ts";
import { benchGroup, widgets } from "../harness/widget.ts";
import { within } from "../harness/within.ts";
import type { BenchContext } from "./case.ts";
import { anyOf } from "./claims.ts";
import { edit } from "./edits.ts";
import type { Settled } from "./initial.ts";

const limitMs = 120_000;

/** First with the lease out of the way, then as a crash leaves it. */
export async function measureRestart(context: BenchContext, settled: Settled): Promise<void> {
  const { report } = context;
  const count = settled.refs.length;
  const free = await restartOnce(context, settled, true);
  const metric = `restart with ${count} claims, lease free: until an edit passes`;
  report({ metric, unit: "s", value: free.seconds, target: { atMost: 2.5 } });
  report({ metric: "restart: needless writes", unit: "", value: free.needlessWrites, target: { atMost: 0 } });
  report({ metric: "restart: CPU seconds", unit: "", value: free.cpuSeconds });
  const held = await restartOnce(context, settled, false);
  const waited = Math.max(0, held.seconds - free.seconds);
  report({ metric: "restart after a crash: wait for the old lease", unit: "s", value: waited });
}

interface Restart {
  readonly seconds: number;
  readonly needlessWrites: number;
  readonly cpuSeconds: number;
}

async function restartOnce(
  { say, keep, random }: BenchContext,
  { world, refs }: Settled,
  isLeaseFree: boolean,
): Promise<Restart> {
  const { consumer, provider, agent } = world;
  await using onProvider = await startStopwatch(provider.cluster.client, widgets);
  await agent.kill();
  if (isLeaseFree) await freeLeases(consumer.cluster.client);
  const before = { consumer: await consumer.calls(), provider: await provider.calls() };
  // Made while nobody listens: the agent has to find it.
  const size = isLeaseFree ? 2001 : 2002;
  const passed = edit(world, onProvider, anyOf(refs, random), size);
  const startedAt = performance.now();
  await agent.start();
  await within(passed, limitMs, "the edit to pass after the restart", world.problem);
  const seconds = (performance.now() - startedAt) / 1000;
  await untilQuiet(world);
  const cpuSeconds = cpuSecondsOf(agent.pid);
  const ofConsumer = callsBetween(before.consumer, await consumer.calls());
  const ofProvider = callsBetween(before.provider, await provider.calls());
  const calls = [...ofConsumer.byKind, ...ofProvider.byKind].filter(({ resource }) =>
    resource.startsWith(benchGroup),
  );
  // One write is needed: the edit's.
  const needlessWrites = Math.max(0, totalOf(calls.filter(isWrite)) - 1);
  say(
    `restart, lease ${isLeaseFree ? "free" : "held by the dead"}: ${seconds.toFixed(2)} s; ${describeCalls(calls)}`,
  );
  keep(`restart, lease ${isLeaseFree ? "free" : "held"}`, {
    seconds,
    cpuSeconds,
    consumer: ofConsumer,
    provider: ofProvider,
  });
  return { seconds, needlessWrites, cpuSeconds };
}
