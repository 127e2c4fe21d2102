/** Case `restart`: the agent dies by SIGKILL and is started again over claims that are all in sync. */
import { describeCalls, isWrite, totalOf } from "../harness/calls.ts";
import { anyOf, Claims } from "../harness/claims.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { callsDuring, untilQuiet } from "../harness/quiet.ts";
import { benchGroup } from "../harness/widget.ts";
import { freeLeases } from "../harness/fixture.ts";
import { type BenchContext, contentsOf, type Settled } from "./case.ts";

const limitMs = 120_000;

interface Restart {
  readonly seconds: number;
  readonly needlessWrites: number;
  readonly cpuSeconds: number;
}

/** Restarts it first with the lease out of the way, then as a crash leaves it. */
export async function measureRestart(context: BenchContext, settled: Settled): Promise<void> {
  const { report } = context;
  const free = await restartOnce(context, settled, true);
  const what = `restart with ${settled.refs.length} claims, lease free: until an edit passes`;
  report(what, free.seconds, "s", { atMost: 2.5 });
  report("restart: needless writes", free.needlessWrites, "", { atMost: 0 });
  report("restart: CPU seconds", free.cpuSeconds);
  const held = await restartOnce(context, settled, false);
  report("restart after a crash: wait for the old lease", Math.max(0, held.seconds - free.seconds), "s");
}

async function restartOnce(
  context: BenchContext,
  { fixture, refs }: Settled,
  isLeaseFree: boolean,
): Promise<Restart> {
  const { say, keep, random } = context;
  const { agent } = fixture;
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context), limitMs });
  await agent.kill();
  if (isLeaseFree) await freeLeases(fixture);
  let seconds = 0;
  const { byKind } = await callsDuring(fixture, async () => {
    // Made while no agent runs: the next one has to find it.
    const passed = claims.resize(anyOf(refs, random), isLeaseFree ? 2001 : 2002);
    const startedAt = performance.now();
    await agent.start();
    await passed;
    seconds = (performance.now() - startedAt) / 1000;
    await untilQuiet(fixture);
  });
  const cpuSeconds = cpuSecondsOf(agent.pid);
  const calls = byKind.filter(({ resource }) => resource.startsWith(benchGroup));
  // One write is needed: the edit's.
  const needlessWrites = Math.max(0, totalOf(calls.filter(isWrite)) - 1);
  const lease = isLeaseFree ? "free" : "held by the dead";
  say(`restart, lease ${lease}: ${seconds.toFixed(2)} s; ${describeCalls(calls)}`);
  keep(`restart, lease ${lease}`, { seconds, cpuSeconds, calls });
  return { seconds, needlessWrites, cpuSeconds };
}
