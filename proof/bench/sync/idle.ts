/** Case `idle`: what the agent asks of the API servers when nothing happens. */
import { setTimeout as sleep } from "node:timers/promises";
import { callsBetween, describeCalls, isWrite, totalOf } from "../harness/calls.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { untilQuiet } from "../harness/quiet.ts";
import { benchGroup } from "../harness/widget.ts";
import type { BenchContext } from "./case.ts";
import type { Settled } from "./initial.ts";

/** Counts all requests of the agent's account: lease, watches that are opened again, heartbeats and whatever else. */
export async function measureIdle(context: BenchContext, { world, refs }: Settled): Promise<void> {
  const { sizes, say, report, keep } = context;
  const { consumer, provider, agent } = world;
  await untilQuiet(world);
  const before = { consumer: await consumer.calls(), provider: await provider.calls() };
  const cpuBefore = cpuSecondsOf(agent.pid);
  const startedAt = performance.now();
  await sleep(sizes.idleSeconds * 1000);
  const ofConsumer = callsBetween(before.consumer, await consumer.calls());
  const ofProvider = callsBetween(before.provider, await provider.calls());
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = ((cpuSecondsOf(agent.pid) - cpuBefore) * 60) / seconds;
  const claimWrites = [...ofConsumer.byKind, ...ofProvider.byKind].filter(
    (call) => isWrite(call) && call.resource.startsWith(benchGroup),
  );
  say(
    `app cluster: ${ofConsumer.byAgent} calls; all that ended there, the server's own too: ${describeCalls(ofConsumer.byKind)}`,
  );
  say(
    `control plane: ${ofProvider.byAgent} calls; all that ended there, the server's own too: ${describeCalls(ofProvider.byKind)}`,
  );
  keep("idle", { seconds, consumer: ofConsumer, provider: ofProvider, cpuSecondsPerMinute: cpu });
  const rate = (ofConsumer.byAgent + ofProvider.byAgent) / seconds;
  const metric = `idle with ${refs.length} claims: calls`;
  report({ metric, unit: "/s", value: rate, target: { atMost: 0.3 } });
  const writes = totalOf(claimWrites);
  report({
    metric: "idle: writes to claims and their copies",
    unit: "",
    value: writes,
    target: { atMost: 0 },
  });
  report({ metric: "idle: CPU seconds a minute", unit: "", value: cpu });
}
