/** Measures the provider's calls and memory while nothing happens. */
import { setTimeout as sleep } from "node:timers/promises";
import { callsBetween, type CallCount, describeCalls, isOfSync, snapshotCalls } from "../harness/calls.ts";
import { cpuSecondsOf, memoryOf } from "../harness/process-memory.ts";
import type { Fixture } from "./fixture.ts";

const sampleEveryMs = 5_000;

/** Watches for `seconds` seconds, and prints line by line: calls of the broker and of the API server, memory, and time of one processor. */
export async function measureRest(
  fixture: Fixture,
  seconds: number,
  instances: number,
): Promise<readonly string[]> {
  const { cluster, api, provider } = fixture;
  const { pid } = provider();
  const before = { calls: await snapshotCalls(cluster, api), served: await fixture.served() };
  const cpuBefore = cpuSecondsOf(pid);
  const began = performance.now();
  const rss: number[] = [];
  while (performance.now() - began < seconds * 1000) {
    await sleep(sampleEveryMs);
    rss.push(memoryOf(pid).rss);
  }
  const minutes = (performance.now() - began) / 60_000;
  const cpuPercent = (100 * (cpuSecondsOf(pid) - cpuBefore)) / (minutes * 60);
  const served = await fixture.served();
  const { byAgent, byKind } = callsBetween(before.calls, await snapshotCalls(cluster, api));
  const asked = [...served]
    .map(
      ([operation, count]) => [operation, (count - (before.served.get(operation) ?? 0)) / minutes] as const,
    )
    .filter(([, rate]) => rate > 0);
  const rate = asked.reduce((sum, [, one]) => sum + one, 0);
  const operations = asked.map(([operation, one]) => `${operation} ${one.toFixed(1)}`).join(", ");
  const ofKinds = describeCalls(byKind.filter(isOfProvider), minutes);
  const memory = [Math.min(...rss), Math.max(...rss)].map((one) => one.toFixed(0)).join(" to ");
  return [
    `at rest for ${minutes.toFixed(1)} min:`,
    `  broker calls ${rate.toFixed(0)}/min, ${(rate / instances).toFixed(3)} for each instance (${operations})`,
    `  API calls of the provider ${(byAgent / minutes).toFixed(1)}/min (all for its kinds: ${ofKinds})`,
    `  RSS ${memory} MiB, CPU ${cpuPercent.toFixed(1)} %`,
  ];
}

/** Tells whether a call can be the provider's; API servers themselves ask for neither. */
function isOfProvider(call: CallCount): boolean {
  return call.verb !== "WATCH" && (call.resource.startsWith("dataservices.") || isOfSync(call));
}
