/** Knowing when the agent has nothing left to do, without knowing what it is. */
import { setTimeout as sleep } from "node:timers/promises";
import { type CallCount, type CallDifference, callsBetween } from "./calls.ts";
import type { BenchFixture } from "./fixture.ts";

const checkEveryMs = 1500;
/** Requests a second on both clusters together that leases and the like may make for ever. */
const restingRate = 3;

/**
 * Waits until the agent's account made next to no request in two intervals on end. Gives back the monotonic time at which that began.
 * Throws when it takes longer than `timeoutMs` (default 10 minutes).
 */
export async function untilQuiet(fixture: BenchFixture, timeoutMs = 600_000): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  let last = await agentCalls(fixture);
  let lastAt = performance.now();
  let since: number | undefined;
  for (let quiet = 0; quiet < 2; ) {
    await sleep(checkEveryMs);
    const calls = await agentCalls(fixture);
    const rate = ((calls - last) * 1000) / (performance.now() - lastAt);
    if (rate <= restingRate) since ??= lastAt;
    else since = undefined;
    quiet = rate <= restingRate ? quiet + 1 : 0;
    [last, lastAt] = [calls, performance.now()];
    if (lastAt > deadline) {
      throw new Error(
        `the agent still makes ${rate.toFixed(1)} calls/s after ${timeoutMs / 1000} s\n${await fixture.problem()}`,
      );
    }
  }
  return since ?? lastAt;
}

/** Calls of each cluster. */
export interface CountedCalls {
  readonly consumer: CallDifference;
  readonly provider: CallDifference;
  /** Calls of both clusters. */
  readonly byKind: readonly CallCount[];
  readonly byAgent: number;
}

/** Counts the calls on both clusters while `work` goes on. */
export async function callsDuring(
  { consumer, provider }: BenchFixture,
  work: () => Promise<unknown>,
): Promise<CountedCalls> {
  const before = { consumer: await consumer.calls(), provider: await provider.calls() };
  await work();
  const ofConsumer = callsBetween(before.consumer, await consumer.calls());
  const ofProvider = callsBetween(before.provider, await provider.calls());
  return {
    consumer: ofConsumer,
    provider: ofProvider,
    byKind: [...ofConsumer.byKind, ...ofProvider.byKind],
    byAgent: ofConsumer.byAgent + ofProvider.byAgent,
  };
}

/** Counts the calls for what `work` causes, from one quiet moment to the next. */
export async function counted(fixture: BenchFixture, work: () => Promise<unknown>): Promise<CountedCalls> {
  await untilQuiet(fixture);
  return callsDuring(fixture, async () => {
    await work();
    await untilQuiet(fixture);
  });
}

async function agentCalls({ consumer, provider }: BenchFixture): Promise<number> {
  const [ofProvider, ofConsumer] = await Promise.all([provider.calls(), consumer.calls()]);
  return ofProvider.byAgent + ofConsumer.byAgent;
}
