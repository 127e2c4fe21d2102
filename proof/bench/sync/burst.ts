/** Case `burst`: many claims created as fast as the API server takes them. */
import { startIdleLoop } from "../harness/idle-loop.ts";
import { probeLatency } from "../harness/latency-probe.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { prepareBurst } from "../harness/send-burst.ts";
import { formatPercentiles } from "../harness/statistics.ts";
import { startBenchWorld } from "../harness/world.ts";
import type { BenchCase, BenchContext } from "./case.ts";

export const burstCase: BenchCase = { serves: ["burst"], run };

const warmUpClaims = 50;
/** prom-client resets what lies behind it with each read, so two reads around the burst give just the burst. */
const lagMetric = "nodejs_eventloop_lag_p99_seconds";

async function run({ agent, sizes, random, say, report, keep }: BenchContext): Promise<void> {
  await using world = await startBenchWorld({ agent });
  const contents = { random, bytes: sizes.specBytes };
  await probeLatency(world, warmUpClaims, contents, "warm");
  await using idleLoop = startIdleLoop();
  await using prepared = await prepareBurst(world, sizes.burst, contents);
  await idleLoop.p99();
  const idleLag = await world.agent.metric(lagMetric);
  const cpuBefore = cpuSecondsOf(world.agent.pid);
  const burst = await prepared.send(sizes.timeoutMinutes * 60_000);
  const lag = await world.agent.metric(lagMetric);
  const cpuMs = ((cpuSecondsOf(world.agent.pid) - cpuBefore) * 1000) / sizes.burst;
  const machineLag = await idleLoop.p99();
  const { createdMs, totalMs, each } = burst;
  const what = `burst of ${sizes.burst}`;
  say(`${what}: created in ${createdMs.toFixed(0)} ms, all upstream in ${totalMs.toFixed(0)} ms`);
  say(`each: ${formatPercentiles(each)}`);
  keep("burst", { ...burst, idleLagSeconds: idleLag, lagSeconds: lag, machineLag });
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
