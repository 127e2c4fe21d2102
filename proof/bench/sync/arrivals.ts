/**
 * Cases `latency`, `burst` and `distant`: one claim at a time on an otherwise idle pair of clusters, many created as fast as the API server
 * takes them, and many for a control plane that is far away, where what the agent has under way at once decides.
 */
import { probeLatency, prepareBurst } from "../harness/bursts.ts";
import { Claims } from "../harness/claims.ts";
import { startIdleLoop } from "../harness/idle-loop.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { formatPercentiles, percentiles } from "../harness/statistics.ts";
import { type BenchFixture, startBenchFixture } from "../harness/fixture.ts";
import { type BenchContext, contentsOf } from "./case.ts";

/** Case `latency`. */
export async function measureLatency(context: BenchContext): Promise<void> {
  const { agent, sizes, say, report, keep } = context;
  await using fixture = await startBenchFixture({ agent });
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  const sample = await probeLatency(claims, sizes.latencyCount);
  keep("latency", sample);
  for (const [what, times] of [
    ["claim → upstream", sample.toProvider],
    ["status → claim", sample.toConsumer],
  ] as const) {
    const value = percentiles(times);
    say(`${what}  ${formatPercentiles(value)}`);
    report(`${what}, p50`, value.p50, "ms", { atMost: 10 });
    report(`${what}, p99`, value.p99, "ms", { atMost: 20 });
  }
}

const warmUpClaims = 50;
/** prom-client resets what lies behind it with each read, so two reads around the burst give just the burst. */
const lagMetric = "nodejs_eventloop_lag_p99_seconds";

/** Case `burst`. */
export async function measureBurst(context: BenchContext): Promise<void> {
  const { agent, sizes, say, report, keep } = context;
  await using fixture = await startBenchFixture({ agent });
  await warmUp(fixture, context);
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await using idleLoop = startIdleLoop();
  const send = prepareBurst(claims, sizes.burst);
  await idleLoop.p99();
  const idleLag = await fixture.agent.metric(lagMetric);
  const cpuBefore = cpuSecondsOf(fixture.agent.pid);
  const burst = await send(sizes.timeoutMinutes * 60_000);
  const lag = await fixture.agent.metric(lagMetric);
  const cpuMs = ((cpuSecondsOf(fixture.agent.pid) - cpuBefore) * 1000) / sizes.burst;
  const machineLag = await idleLoop.p99();
  const { createdMs, totalMs, each } = burst;
  const what = `burst of ${sizes.burst}`;
  say(`${what}: created in ${createdMs.toFixed(0)} ms, all upstream in ${totalMs.toFixed(0)} ms`);
  say(`each: ${formatPercentiles(each)}`);
  keep("burst", { ...burst, idleLagSeconds: idleLag, lagSeconds: lag, machineLag });
  report(`${what}: claims/s`, (sizes.burst * 1000) / totalMs, "/s", { atLeast: 200 });
  report(`${what}: each, p50`, each.p50, "ms");
  report(`${what}: each, p99`, each.p99, "ms");
  report(`${what}: CPU time of the agent for each`, cpuMs, "ms");
  if (lag === undefined) return;
  report(`${what}: event loop of the agent, p99`, lag * 1000, "ms", { atMost: 20 });
  report(`${what}: an idle event loop beside it, p99`, machineLag, "ms");
}

async function warmUp(fixture: BenchFixture, context: BenchContext): Promise<void> {
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  await probeLatency(claims, warmUpClaims, "warm");
}

/** There and back, as between continents. */
const wayMs = 250;

/** Case `distant`. */
export async function measureDistant(context: BenchContext): Promise<void> {
  const { agent, sizes, say, report, keep } = context;
  await using fixture = await startBenchFixture({ agent, wayMs });
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context) });
  const burst = await prepareBurst(claims, sizes.distantBurst)(sizes.timeoutMinutes * 60_000);
  const what = `burst of ${sizes.distantBurst} to a control plane ${wayMs} ms away`;
  say(`${what}: all upstream in ${burst.totalMs.toFixed(0)} ms; each: ${formatPercentiles(burst.each)}`);
  keep("distant", burst);
  report(`${what}: claims/s`, (sizes.distantBurst * 1000) / burst.totalMs, "/s");
}
