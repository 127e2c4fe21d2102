/** Many claims created as fast as the API server takes them, timed until they are upstream. */
import { inParallel } from "./api.ts";
import { percentiles, type Percentiles } from "./statistics.ts";
import { startStopwatch } from "./stopwatch.ts";
import { widget, type WidgetContents, widgets } from "./widget.ts";
import { within } from "./within.ts";
import { type BenchWorld, mirrorOf, workNamespace } from "./world.ts";

/** Milliseconds from sending the first create, and of each claim. */
export interface Burst {
  readonly createdMs: number;
  readonly totalMs: number;
  readonly each: Percentiles;
}

/** Creates `count` claims. `onStart` is called right before the clock runs. */
export async function sendBurst(
  { consumer, provider, problem }: BenchWorld,
  count: number,
  contents: WidgetContents,
  timeoutMs: number,
  onStart: () => Promise<void> = async () => {},
): Promise<Burst> {
  await using above = await startStopwatch(provider.cluster.client, widgets);
  const mirror = mirrorOf(workNamespace);
  // Made before the clock runs: random contents cost time.
  const claims = Array.from({ length: count }, (_, index) =>
    widget(workNamespace, `burst-${index}`, contents),
  );
  const arrivals = claims.map(({ metadata }) => above.seen(`${mirror}/${metadata.name}`));
  const sentAt: number[] = [];
  await onStart();
  const startedAt = performance.now();
  await inParallel(claims, async (claim, index) => {
    sentAt[index] = performance.now();
    await consumer.api.create(widgets, claim);
  });
  const createdMs = performance.now() - startedAt;
  const arrivedAt = await within(Promise.all(arrivals), timeoutMs, "the burst to arrive", problem);
  return {
    createdMs,
    totalMs: Math.max(...arrivedAt) - startedAt,
    each: percentiles(arrivedAt.map((at, index) => at - (sentAt[index] ?? at))),
  };
}
