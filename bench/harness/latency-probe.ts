/** One claim after the other: how long the create takes to arrive upstream, and a status to come back. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Stopwatch, startStopwatch } from "./stopwatch.ts";
import { widget, type WidgetContents, widgets } from "./widget.ts";
import { within } from "./within.ts";
import { type BenchWorld, mirrorOf, workNamespace } from "./world.ts";

/** Milliseconds. */
export interface LatencySample {
  readonly up: readonly number[];
  readonly down: readonly number[];
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
  await using above = await startStopwatch(provider.cluster.client, widgets);
  await using below = await startStopwatch(consumer.cluster.client, widgets);
  const up: number[] = [];
  const down: number[] = [];
  for (let index = -warmUpRounds; index < count; index++) {
    const name = `${prefix}${index + warmUpRounds}`;
    const sample = await oneRound(world, { above, below }, name, contents);
    if (index >= 0) {
      up.push(sample.up);
      down.push(sample.down);
    }
    await sleep(pauseMs);
  }
  return { up, down };
}

async function oneRound(
  { consumer, provider, problem }: BenchWorld,
  { above, below }: { readonly above: Stopwatch; readonly below: Stopwatch },
  name: string,
  contents: WidgetContents,
): Promise<{ readonly up: number; readonly down: number }> {
  const ref = { namespace: mirrorOf(workNamespace), name };
  const claim = widget(workNamespace, name, contents);
  const arrived = above.seen(`${ref.namespace}/${name}`);
  const createdAt = performance.now();
  await consumer.api.create(widgets, claim);
  const up = (await within(arrived, limitMs, "the widget to arrive", problem)) - createdAt;
  const returned = below.seen(`${workNamespace}/${name}`, ({ status }) => status !== undefined);
  const reportedAt = performance.now();
  await provider.api.patch(widgets, ref, { status: { observed: 1 } }, "status");
  const down = (await within(returned, limitMs, "the status to return", problem)) - reportedAt;
  return { up, down };
}

/** Shows that claims pass through: one is made, arrives and is deleted again on both sides. */
export async function canary(world: BenchWorld, contents: WidgetContents): Promise<void> {
  const { consumer, provider, problem } = world;
  await using above = await startStopwatch(provider.cluster.client, widgets);
  await using below = await startStopwatch(consumer.cluster.client, widgets);
  const ref = { namespace: workNamespace, name: "canary" };
  const [arrived, left] = [`${mirrorOf(workNamespace)}/canary`, `${workNamespace}/canary`];
  const seen = above.seen(arrived);
  await consumer.api.create(widgets, widget(ref.namespace, ref.name, contents));
  await within(seen, limitMs, "the first widget to arrive", problem);
  const gone = [above.gone(arrived), below.gone(left)];
  await consumer.api.delete(widgets, ref);
  await within(Promise.all(gone), limitMs, "the first widget to be deleted", problem);
}
