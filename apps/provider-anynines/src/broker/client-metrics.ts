/** Counts requests to backends. */
import type { Metrics } from "@klutch/telemetry";
import * as declarations from "../metrics.ts";

/** Is told of each request: which operation, the status of the answer or undefined when none came, and how long it took. */
export type ObserveCall = (operation: string, status: number | undefined, tookMs: number) => void;

/** Counts by operation and answer, not by backend: names of ProviderConfigs are their owners'. */
export function requestObserver(metrics: Metrics): ObserveCall {
  const requests = metrics.counter(declarations.brokerRequests);
  const durations = metrics.histogram(declarations.brokerRequestDuration);
  return (operation, status, tookMs) => {
    requests.labels({ operation, code: status === undefined ? "error" : String(status) }).inc();
    durations.labels({ operation }).observe(tookMs / 1000);
  };
}

/** Tells the second one the status, too. */
export function andTelling(
  observe: ObserveCall,
  answered: (status: number | undefined) => void,
): ObserveCall {
  return (operation, status, tookMs) => {
    observe(operation, status, tookMs);
    answered(status);
  };
}
