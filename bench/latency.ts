/**
 * `npm run bench:latency`: how long a claim takes to appear in the control plane, and a status to come back, one at a time on an
 * otherwise idle machine. `-- --agent "<command>"` measures another implementation, `-- --count 300` takes more samples.
 */
import { parseArgs } from "node:util";
import { engineNames, resolveEngines } from "@klutch/engines";
import { ownAgent } from "./harness/agent-process.ts";
import { seededRandom } from "./harness/contents.ts";
import { probeLatency } from "./harness/latency-probe.ts";
import { describeMachine } from "./harness/machine.ts";
import { memoryOf } from "./harness/process-memory.ts";
import { formatPercentiles, percentiles } from "./harness/statistics.ts";
import { startBenchWorld } from "./harness/world.ts";

const { values } = parseArgs({
  options: {
    agent: { type: "string", default: ownAgent.command },
    count: { type: "string", default: "200" },
  },
});

await resolveEngines(engineNames, { progress: (line) => console.log(line) });
await using world = await startBenchWorld({ agent: { command: values.agent, metricsUrl: undefined } });
const contents = { random: seededRandom(1), bytes: 2000 };
const { up, down } = await probeLatency(world, Number(values.count), contents);
console.log(`machine           ${describeMachine()}, etcd with fsync`);
console.log(`claim → upstream  ${formatPercentiles(percentiles(up))}`);
console.log(`status → claim    ${formatPercentiles(percentiles(down))}`);
console.log(`agent RSS         ${memoryOf(world.agent.pid).rss.toFixed(0)} MiB`);
