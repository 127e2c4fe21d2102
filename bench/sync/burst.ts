/** Case `burst`: many claims created as fast as the API server takes them. */
import { inParallel } from "../harness/api.ts";
import { startIdleLoop } from "../harness/idle-loop.ts";
import { probeLatency } from "../harness/latency-probe.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { percentiles, formatPercentiles } from "../harness/statistics.ts";
import { startStopwatch } from "../harness/stopwatch.ts";
import { widget, widgets } from "../harness/widget.ts";
import { within } from "../harness/within.ts";
import { mirrorOf, startBenchWorld, workNamespace } from "../harness/world.ts";
import type { BenchCase, BenchContext } from "./case.ts";

export const burstCase: BenchCase = { serves: ["burst"], run };

const warmUpClaims = 50;
/** prom-client resets what lies behind it with each read, so two reads around the burst give just the burst. */
const lagMetric = "nodejs_eventloop_lag_p99_seconds";

async function run({ agent, sizes, random, say, report, keep }: BenchContext): Promise<void> {
  await using world = await startBenchWorld({ agent });
  const { consumer, provider } = world;
  await probeLatency(world, warmUpClaims, { random, bytes: sizes.specBytes }, "warm");
  await using above = await startStopwatch(provider.cluster.client, widgets);
  const mirror = mirrorOf(workNamespace);
  // Made before the clock runs: random contents cost time.
  const claims = Array.from({ length: sizes.burst }, (_, index) =>
    widget(workNamespace, `burst-${index}`, { random, bytes: sizes.specBytes }),
  );
  const arrivals = claims.map(({ metadata }) => above.seen(`${mirror}/${metadata.name}`));
  const sentAt: number[] = [];
  await using idleLoop = startIdleLoop();
  await idleLoop.p99();
  const idleLag = await world.agent.metric(lagMetric);
  const cpuBefore = cpuSecondsOf(world.agent.pid);
  const startedAt = performance.now();
  await inParallel(claims, async (claim, index) => {
    sentAt[index] = performance.now();
    await consumer.api.create(widgets, claim);
  });
  const createdMs = performance.now() - startedAt;
  const arrivedAt = await within(
    Promise.all(arrivals),
    sizes.timeoutMinutes * 60_000,
    "the burst to arrive",
    world.problem,
  );
  const lag = await world.agent.metric(lagMetric);
  const cpuMs = ((cpuSecondsOf(world.agent.pid) - cpuBefore) * 1000) / sizes.burst;
  const machineLag = await idleLoop.p99();
  const totalMs = Math.max(...arrivedAt) - startedAt;
  const each = percentiles(arrivedAt.map((at, index) => at - (sentAt[index] ?? at)));
  const what = `burst of ${sizes.burst}`;
  say(`${what}: created in ${createdMs.toFixed(0)} ms, all upstream in ${totalMs.toFixed(0)} ms`);
  say(`each: ${formatPercentiles(each)}`);
  keep("burst", { createdMs, totalMs, each, idleLagSeconds: idleLag, lagSeconds: lag, machineLag });
  const rate = (sizes.burst * 1000) / totalMs;
  report({ metric: `${what}: claims/s`, unit: "/s", value: rate, target: { atLeast: 200 } });
  report({ metric: `${what}: each, p50`, unit: "ms", value: each.p50 });
  report({ metric: `${what}: each, p99`, unit: "ms", value: each.p99 });
  report({ metric: `${what}: CPU time of the agent for each`, unit: "ms", value: cpuMs });
  if (lag !== undefined) {
    const metric = `${what}: event loop of the agent, p99`;
    report({ metric, unit: "ms", value: lag * 1000, target: { atMost: 20 } });
    report({ metric: `${what}: an idle event loop beside it, p99`, unit: "ms", value: machineLag });
  }
}
