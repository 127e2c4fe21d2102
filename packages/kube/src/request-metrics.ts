/** Counts the requests of one client. */
import { clientMetrics, type Counter, type Histogram, type Metrics } from "@klutch/telemetry";
import type { FlowControl } from "./flow-control.ts";

/** Takes note of one request. `status` is undefined when no answer came. */
export type Measure = (method: string, status: number | undefined, latencyMs: number) => void;

/** Counts for one client; disposed with it. */
export interface RequestMetrics extends Disposable {
  readonly measure: Measure;
}

/** As client-go has it. */
const noAnswer = "<error>";

/** Without metrics nothing is counted. */
export function createRequestMetrics(
  metrics: Metrics | undefined,
  server: string,
  flow: FlowControl | undefined,
): RequestMetrics {
  if (metrics === undefined) return { measure: () => {}, [Symbol.dispose]: () => {} };
  const { host } = new URL(server);
  const requests = metrics.counter(clientMetrics.restRequests);
  const durations = metrics.histogram(clientMetrics.restDuration);
  // Bound to their labels once: thousands of requests have the same few.
  const counters = new Map<string, Map<number | undefined, Counter>>();
  const histograms = new Map<string, Histogram>();
  const reading =
    flow === undefined
      ? undefined
      : metrics.read(clientMetrics.inFlightLimit, () => [{ labels: { host }, value: flow.limit }]);
  return {
    measure(method, status, latencyMs) {
      const ofMethod = getOr(counters, method, () => new Map<number | undefined, Counter>());
      const code = status === undefined ? noAnswer : String(status);
      getOr(ofMethod, status, () => requests.labels({ code, method, host })).inc();
      getOr(histograms, method, () => durations.labels({ verb: method, host })).observe(latencyMs / 1000);
    },
    [Symbol.dispose]: () => reading?.[Symbol.dispose](),
  };
}

function getOr<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}
