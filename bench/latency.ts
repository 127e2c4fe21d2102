/**
 * `npm run bench:latency`: how long a claim takes to appear in the control plane, and a status to come back, one at a time on an
 * otherwise idle machine. `-- --agent "<command>"` measures another implementation, `-- --count 300` takes more samples.
 */
import { execFileSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { engineNames, resolveEngines } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { formatPercentiles, percentiles } from "./harness/statistics.ts";
import { startStopwatch } from "./harness/stopwatch.ts";
import { widget, widgets } from "./harness/widget.ts";
import { bindingProblem, startBenchWorld } from "./harness/world.ts";

const ownAgent = `${process.execPath} --max-semi-space-size=2 ${join(import.meta.dirname, "..", "apps", "konnector", "src", "main.ts")} --lease-namespace=klutch-bind --probe-host=127.0.0.1 --probe-port=0`;
const { values } = parseArgs({
  options: { agent: { type: "string", default: ownAgent }, count: { type: "string", default: "200" } },
});
const count = Number(values.count);
const pauseMs = 50;

await resolveEngines(engineNames, { progress: (line) => console.log(line) });
await using world = await startBenchWorld(values.agent);
const { consumer, provider, consumerNamespace, serviceNamespace } = world;
await using providerWatch = await startStopwatch(provider.client, widgets);
await using consumerWatch = await startStopwatch(consumer.client, widgets);

const up: number[] = [];
const down: number[] = [];
for (let index = -10; index < count; index++) {
  const name = `w${index + 10}`;
  const arrived = providerWatch.seen(`${serviceNamespace}/${name}`, () => true);
  const createdAt = performance.now();
  await consumer.client.create(widgets, widget(consumerNamespace, name));
  const upMs = (await withLimit(arrived, "the widget to arrive")) - createdAt;
  const returned = consumerWatch.seen(`${consumerNamespace}/${name}`, ({ status }) => status !== undefined);
  const reportedAt = performance.now();
  const ref = { namespace: serviceNamespace, name };
  await provider.client.mergePatch(widgets, ref, { status: { observed: index } }, { subresource: "status" });
  const downMs = (await withLimit(returned, "the status to return")) - reportedAt;
  // The first ones warm up connections and compilers.
  if (index >= 0) {
    up.push(upMs);
    down.push(downMs);
  }
  await sleep(pauseMs);
}
console.log(
  `machine           ${cpus().length} × ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(2)}, etcd with fsync`,
);
console.log(`claim → upstream  ${formatPercentiles(percentiles(up))}`);
console.log(`status → claim    ${formatPercentiles(percentiles(down))}`);
console.log(`agent RSS         ${residentMiB(world.agent.pid)} MiB`);

/** Of the whole process group, whose only large member is the agent. */
function residentMiB(group: number): string {
  const lines = execFileSync("ps", ["-eo", "pgid=,rss="], { encoding: "utf8" }).trim().split("\n");
  const sizes = lines.map((line) => line.trim().split(/\s+/).map(Number)).filter(([pgid]) => pgid === group);
  return (Math.max(...sizes.map(([, rss = 0]) => rss)) / 1024).toFixed(0);
}

async function withLimit(arrival: Promise<number>, what: string): Promise<number> {
  const settled: { at?: number } = {};
  void arrival.then((at) => (settled.at = at));
  try {
    return await waitFor(what, () => settled.at, { timeoutMs: 30_000, intervalMs: 2 });
  } catch (error) {
    throw new Error(`${String(error)}; binding: ${await bindingProblem(consumer)}`, { cause: error });
  }
}
