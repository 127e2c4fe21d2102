/** Case `latency`: one claim at a time on an otherwise idle pair of clusters. */
import { probeLatency } from "../harness/latency-probe.ts";
import { formatPercentiles, percentiles } from "../harness/statistics.ts";
import { startBenchWorld } from "../harness/world.ts";
import type { BenchCase, BenchContext } from "./case.ts";

export const latencyCase: BenchCase = { serves: ["latency"], run };

async function run({ agent, sizes, random, say, report, keep }: BenchContext): Promise<void> {
  await using world = await startBenchWorld({ agent });
  const contents = { random, bytes: sizes.specBytes };
  const sample = await probeLatency(world, sizes.latencyCount, contents);
  const [toProvider, toConsumer] = [percentiles(sample.toProvider), percentiles(sample.toConsumer)];
  say(`claim → upstream  ${formatPercentiles(toProvider)}`);
  say(`status → claim    ${formatPercentiles(toConsumer)}`);
  keep("latency", sample);
  const unit = "ms";
  report({ metric: "claim → upstream, p50", unit, value: toProvider.p50, target: { atMost: 10 } });
  report({ metric: "claim → upstream, p99", unit, value: toProvider.p99, target: { atMost: 20 } });
  report({ metric: "status → claim, p50", unit, value: toConsumer.p50, target: { atMost: 10 } });
  report({ metric: "status → claim, p99", unit, value: toConsumer.p99, target: { atMost: 20 } });
}
