/** Case `initial`: the agent starts where all claims exist already, while others use the clusters. */
import { describeCalls, isOfSync } from "../harness/calls.ts";
import { Claims } from "../harness/claims.ts";
import { callsDuring, untilQuiet } from "../harness/quiet.ts";
import { within } from "../harness/within.ts";
import { freeLeases } from "../harness/fixture.ts";
import { startBystanders } from "./bystanders.ts";
import { type BenchContext, contentsOf, type Settled } from "./case.ts";

/** Starts the agent and waits until everything is upstream and quiet; reports figures only when `initial` was asked for. */
export async function measureInitial(context: BenchContext, { fixture, refs }: Settled): Promise<void> {
  const { sizes, say, report, keep, wants } = context;
  const timeoutMs = sizes.timeoutMinutes * 60_000;
  await using claims = await Claims.watch(fixture, { contents: contentsOf(context), limitMs: timeoutMs });
  await freeLeases(fixture);
  let [seconds, quietSeconds] = [0, 0];
  const { byKind } = await callsDuring(fixture, async () => {
    const bystanders = wants("initial") ? await startBystanders(context, claims) : undefined;
    const startedAt = performance.now();
    const arrivals = refs.map(async (ref) => {
      const at = await claims.onProvider.seen(ref.upstreamKey);
      bystanders?.synced.push(ref);
      return at - startedAt;
    });
    await fixture.agent.start();
    const arrivedMs = await within(Promise.all(arrivals), timeoutMs, "all claims to arrive", fixture.problem);
    seconds = Math.max(...arrivedMs) / 1000;
    say(`all ${refs.length} upstream ${seconds.toFixed(1)} s after the start of the agent`);
    await bystanders?.stop();
    quietSeconds = ((await untilQuiet(fixture, timeoutMs)) - startedAt) / 1000;
  });
  const calls = byKind.filter(isOfSync);
  say(`calls for each claim: ${describeCalls(calls, refs.length)}`);
  if (!wants("initial")) return;
  report(`initial sync of ${refs.length}`, seconds, "s", { atMost: 90 });
  keep("initial", { seconds, quietSeconds, calls });
}
