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

/** Claims that are ready to be created: random contents cost time. */
export interface PreparedBurst extends AsyncDisposable {
  /** Once. Throws when they are not all upstream after `timeoutMs`. */
  send(timeoutMs: number): Promise<Burst>;
}

/** Makes the contents of `count` claims. */
export async function prepareBurst(
  { consumer, provider, problem }: BenchWorld,
  count: number,
  contents: WidgetContents,
): Promise<PreparedBurst> {
  const onProvider = await startStopwatch(provider.cluster.client, widgets);
  const mirror = mirrorOf(workNamespace);
  const claims = Array.from({ length: count }, (_, index) =>
    widget(workNamespace, `burst-${index}`, contents),
  );
  return {
    async send(timeoutMs) {
      const arrivals = claims.map(({ metadata }) => onProvider.seen(`${mirror}/${metadata.name}`));
      const sentAt: number[] = [];
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
    },
    [Symbol.asyncDispose]: () => onProvider[Symbol.asyncDispose](),
  };
}
