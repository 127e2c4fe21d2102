/** One claim after the other: how long the create takes to arrive upstream, and a status to come back. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Stopwatch, startStopwatch } from "./stopwatch.ts";
import { widget, type WidgetContents, widgets } from "./widget.ts";
import { within } from "./within.ts";
import { type BenchWorld, mirrorOf, workNamespace } from "./world.ts";

/** Milliseconds: of claims to the provider, and of their statuses to the consumer. */
export interface LatencySample {
  readonly toProvider: readonly number[];
  readonly toConsumer: readonly number[];
}

const pauseMs = 50;
const limitMs = 60_000;
/** The first ones warm up connections and compilers. */
const warmUpRounds = 10;

/** Measures `count` rounds after some that are not counted; names start with `prefix`. */
export async function probeLatency(
  world: BenchWorld,
  count: number,
  contents: WidgetContents,
  prefix = "w",
): Promise<LatencySample> {
  const { consumer, provider } = world;
  await using onProvider = await startStopwatch(provider.cluster.client, widgets);
  await using onConsumer = await startStopwatch(consumer.cluster.client, widgets);
  const toProvider: number[] = [];
  const toConsumer: number[] = [];
  for (let index = -warmUpRounds; index < count; index++) {
    const name = `${prefix}${index + warmUpRounds}`;
    const sample = await oneRound(world, { onProvider, onConsumer }, name, contents);
    if (index >= 0) {
      toProvider.push(sample.toProvider);
      toConsumer.push(sample.toConsumer);
    }
    await sleep(pauseMs);
  }
  return { toProvider, toConsumer };
}

async function oneRound(
  { consumer, provider, problem }: BenchWorld,
  { onProvider, onConsumer }: { readonly onProvider: Stopwatch; readonly onConsumer: Stopwatch },
  name: string,
  contents: WidgetContents,
): Promise<{ readonly toProvider: number; readonly toConsumer: number }> {
  const ref = { namespace: mirrorOf(workNamespace), name };
  const claim = widget(workNamespace, name, contents);
  const arrived = onProvider.seen(`${ref.namespace}/${name}`);
  const createdAt = performance.now();
  await consumer.api.create(widgets, claim);
  const toProvider = (await within(arrived, limitMs, "the widget to arrive", problem)) - createdAt;
  const returned = onConsumer.seen(`${workNamespace}/${name}`, ({ status }) => status !== undefined);
  const reportedAt = performance.now();
  await provider.api.patch(widgets, ref, { status: { observed: 1 } }, "status");
  const toConsumer = (await within(returned, limitMs, "the status to return", problem)) - reportedAt;
  return { toProvider, toConsumer };
}

/** Shows that claims pass through: one is made, arrives and is deleted again on both sides. */
export async function canary(world: BenchWorld, contents: WidgetContents): Promise<void> {
  const { consumer, provider, problem } = world;
  await using onProvider = await startStopwatch(provider.cluster.client, widgets);
  await using onConsumer = await startStopwatch(consumer.cluster.client, widgets);
  const ref = { namespace: workNamespace, name: "canary" };
  const [arrived, left] = [`${mirrorOf(workNamespace)}/canary`, `${workNamespace}/canary`];
  const seen = onProvider.seen(arrived);
  await consumer.api.create(widgets, widget(ref.namespace, ref.name, contents));
  await within(seen, limitMs, "the first widget to arrive", problem);
  const gone = [onProvider.gone(arrived), onConsumer.gone(left)];
  await consumer.api.delete(widgets, ref);
  await within(Promise.all(gone), limitMs, "the first widget to be deleted", problem);
}
