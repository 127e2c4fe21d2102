/** Case `idle`: what the agent asks of the API servers when nothing happens. */
import { setTimeout as sleep } from "node:timers/promises";
import { describeCalls, isWrite, totalOf } from "../harness/calls.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { callsDuring, untilQuiet } from "../harness/quiet.ts";
import { benchGroup } from "../harness/widget.ts";
import type { BenchContext, Settled } from "./case.ts";

/** Counts all requests of the agent's account: lease, watches that are opened again, heartbeats and whatever else. */
export async function measureIdle(context: BenchContext, { fixture, refs }: Settled): Promise<void> {
  const { sizes, say, report, keep } = context;
  const { pid } = fixture.agent;
  await untilQuiet(fixture);
  const cpuBefore = cpuSecondsOf(pid);
  const startedAt = performance.now();
  const calls = await callsDuring(fixture, () => sleep(sizes.idleSeconds * 1000));
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = ((cpuSecondsOf(pid) - cpuBefore) * 60) / seconds;
  for (const [where, { byAgent, byKind }] of [
    ["app cluster", calls.consumer],
    ["control plane", calls.provider],
  ] as const)
    say(`${where}: ${byAgent} calls; all that ended there, the server's own too: ${describeCalls(byKind)}`);
  keep("idle", { seconds, ...calls, cpuSecondsPerMinute: cpu });
  report(`idle with ${refs.length} claims: calls`, calls.byAgent / seconds, "/s", { atMost: 0.3 });
  const written = calls.byKind.filter((call) => isWrite(call) && call.resource.startsWith(benchGroup));
  report("idle: writes to claims and their copies", totalOf(written), "", { atMost: 0 });
  report("idle: CPU seconds a minute", cpu);
}
