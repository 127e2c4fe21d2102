/** Case `calls`: what one claim's life costs in API calls, and how many of them fail. */
import { inParallel } from "../harness/api.ts";
import { type CallCount, describeCalls, isFailed, isOfSync, totalOf } from "../harness/calls.ts";
import { canary } from "../harness/latency-probe.ts";
import { counted, type CountedCalls } from "../harness/quiet.ts";
import { startStopwatch } from "../harness/stopwatch.ts";
import { widget, widgets } from "../harness/widget.ts";
import { within } from "../harness/within.ts";
import { mirrorOf, startBenchWorld, workNamespace } from "../harness/world.ts";
import type { BenchCase, BenchContext } from "./case.ts";

export const callsCase: BenchCase = { serves: ["calls"], run };

const limitMs = 60_000;

async function run(context: BenchContext): Promise<void> {
  const { agent, sizes, random, say, report, keep } = context;
  await using world = await startBenchWorld({ agent });
  const { consumer, provider, problem } = world;
  const contents = { random, bytes: sizes.specBytes };
  await canary(world, contents);
  await using onProvider = await startStopwatch(provider.cluster.client, widgets);
  await using onConsumer = await startStopwatch(consumer.cluster.client, widgets);
  // So that the deletions below are no accident in the eyes of an agent that guards against mass deletion.
  const staying = Array.from({ length: 3 * sizes.callClaims }, (_, index) => `stay-${index}`);
  const settled = staying.map((name) => onProvider.seen(`${mirrorOf(workNamespace)}/${name}`));
  await inParallel(staying, (name) => consumer.api.create(widgets, widget(workNamespace, name, contents)));
  await within(Promise.all(settled), limitMs, "the claims that stay to arrive", problem);
  const names = Array.from({ length: sizes.callClaims }, (_, index) => `calls-${index}`);
  const mirror = mirrorOf(workNamespace);
  const created = await counted(world, async () => {
    for (const name of names) {
      const arrived = onProvider.seen(`${mirror}/${name}`);
      await consumer.api.create(widgets, widget(workNamespace, name, contents));
      await within(arrived, limitMs, `${name} to arrive`, problem);
    }
  });
  const reported = await counted(world, async () => {
    for (const name of names) {
      const returned = onConsumer.seen(`${workNamespace}/${name}`, ({ status }) => status !== undefined);
      const status = { observed: 1, message: "ready" };
      await provider.api.patch(widgets, { namespace: mirror, name }, { status }, "status");
      await within(returned, limitMs, `the status of ${name}`, problem);
    }
  });
  const deleted = await counted(world, async () => {
    for (const name of names) {
      const gone = [onProvider.gone(`${mirror}/${name}`), onConsumer.gone(`${workNamespace}/${name}`)];
      await consumer.api.delete(widgets, { namespace: workNamespace, name });
      await within(Promise.all(gone), limitMs, `${name} to go`, problem);
    }
  });
  const count = names.length;
  const phases = { created, reported, deleted };
  for (const [what, phase] of Object.entries(phases)) {
    const callsOfAgent = phase.consumer.byAgent + phase.provider.byAgent;
    const named = totalOf(syncCalls(phase));
    say(`${what}: ${describeCalls(syncCalls(phase), count)} (for each claim)`);
    say(`  ${callsOfAgent} calls of the agent's account in all, ${named} named here; the rest is its lease`);
  }
  keep("calls", phases);
  const live = [...syncCalls(created), ...syncCalls(reported)];
  const per = (calls: readonly CallCount[]): number => totalOf(calls) / count;
  report({ metric: "calls for create and one status", unit: "", value: per(live), target: { atMost: 3.5 } });
  report({ metric: "calls for a deletion", unit: "", value: per(syncCalls(deleted)) });
  const failed = totalOf([...live, ...syncCalls(deleted)].filter(isFailed));
  report({ metric: `failed calls, ${count} lives`, unit: "", value: failed, target: { atMost: 0 } });
}

function syncCalls({ consumer, provider }: CountedCalls): readonly CallCount[] {
  return [...consumer.byKind, ...provider.byKind].filter(isOfSync);
}
