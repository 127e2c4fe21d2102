/** Counts what the gateway does. */
import type { Metrics } from "@klutch/telemetry";
import type { GatewayEvents } from "./gateway.ts";
import type { KindCache } from "./kind-cache.ts";
import {
  accessReviews,
  cachedBytes,
  cachedObjects,
  endedWatches,
  passedRequests,
  refusedRequests,
  servedLists,
  servedWatches,
  upstreamWatches,
} from "./metrics.ts";

/** Returns the counters; caches are read at each scrape. */
export function gatewayMetrics(
  metrics: Metrics,
  caches: () => readonly KindCache[],
): { readonly events: GatewayEvents; readonly onAsked: () => void } {
  const sum = (read: (cache: KindCache) => number): number =>
    caches().reduce((total, cache) => total + read(cache), 0);
  metrics.read(upstreamWatches, () => [{ labels: {}, value: caches().length }]);
  metrics.read(cachedObjects, () => [{ labels: {}, value: sum(({ objects }) => objects) }]);
  metrics.read(cachedBytes, () => [
    { labels: { part: "objects" }, value: sum(({ bytes }) => bytes) },
    { labels: { part: "history" }, value: sum(({ historyBytes }) => historyBytes) },
  ]);
  let open = 0;
  metrics.read(servedWatches, () => [{ labels: {}, value: open }]);
  const [lists, asked] = [metrics.counter(servedLists).labels({}), metrics.counter(accessReviews).labels({})];
  const [passed, refused] = [metrics.counter(passedRequests), metrics.counter(refusedRequests)];
  const ended = metrics.counter(endedWatches);
  return {
    onAsked: () => asked.inc(),
    events: {
      passed: (reason) => passed.labels({ reason }).inc(),
      refused: (code) => refused.labels({ code: String(code) }).inc(),
      listed: () => lists.inc(),
      watched: (change) => void (open += change),
      ended: (how) => ended.labels({ reason: how }).inc(),
    },
  };
}
