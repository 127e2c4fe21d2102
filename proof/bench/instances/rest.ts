/** What the provider asks and holds while nothing happens. */
import { setTimeout as sleep } from "node:timers/promises";
import { callsBetween, type CallCount, describeCalls, isOfSync, snapshotCalls } from "../harness/calls.ts";
import { cpuSecondsOf, memoryOf } from "../harness/process-memory.ts";
import type { World } from "./world.ts";

/** Of one stretch of time. */
export interface Rest {
  readonly minutes: number;
  readonly brokerCallsAMinute: number;
  /** By operation, for people. */
  readonly brokerCalls: string;
  /** Every request of the provider's account; watches count when they begin. */
  readonly apiCallsAMinute: number;
  /** Requests for the provider's kinds, Secrets and events, by anybody but the benchmark; for people. */
  readonly apiCalls: string;
  /** MiB: lowest, highest. */
  readonly rss: readonly [number, number];
  /** Of one processor. */
  readonly cpuPercent: number;
}

const sampleEveryMs = 5_000;

/** Watches for so many seconds. */
export async function measureRest(world: World, seconds: number): Promise<Rest> {
  const { cluster, api, provider } = world;
  const { pid } = provider();
  const before = { calls: await snapshotCalls(cluster, api), served: await world.served() };
  const cpuBefore = cpuSecondsOf(pid);
  const began = performance.now();
  const rss: number[] = [];
  while (performance.now() - began < seconds * 1000) {
    await sleep(sampleEveryMs);
    rss.push(memoryOf(pid).rss);
  }
  const minutes = (performance.now() - began) / 60_000;
  const cpuSeconds = cpuSecondsOf(pid) - cpuBefore;
  const served = await world.served();
  const { byAgent, byKind } = callsBetween(before.calls, await snapshotCalls(cluster, api));
  const asked = [...served].map(
    ([operation, count]) => [operation, count - (before.served.get(operation) ?? 0)] as const,
  );
  return {
    minutes,
    brokerCallsAMinute: asked.reduce((sum, [, count]) => sum + count, 0) / minutes,
    brokerCalls: asked
      .filter(([, count]) => count > 0)
      .map(([operation, count]) => `${operation} ${(count / minutes).toFixed(1)}`)
      .join(", "),
    apiCallsAMinute: byAgent / minutes,
    apiCalls: describeCalls(byKind.filter(isOfProvider), minutes),
    rss: [Math.min(...rss), Math.max(...rss)],
    cpuPercent: (100 * cpuSeconds) / (minutes * 60),
  };
}

/** Whether a call can be the provider's; API servers themselves ask for neither. */
function isOfProvider(call: CallCount): boolean {
  return call.verb !== "WATCH" && (call.resource.startsWith("dataservices.") || isOfSync(call));
}
