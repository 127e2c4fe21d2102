/** Requests of a process to API servers, with the names and labels of client-go. */
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  ProcessName,
} from "../declaration.ts";

const processes: readonly ProcessName[] = ["konnector", "backend", "provider-anynines"];
/** A konnector with many providers has as many hosts; the first ones are shown each by itself. */
const mostValues: { readonly host: number } = { host: 10 };

export const restRequests: CounterDeclaration<"code" | "method" | "host"> = {
  name: "rest_client_requests_total",
  type: "counter",
  help: "Number of HTTP requests to API servers, partitioned by status code, method, and host",
  notes:
    "`code` is `<error>` when no answer came, as in client-go. A watch counts once, when it is answered.",
  labels: ["code", "method", "host"],
  mostValues,
  processes,
};

export const restDuration: HistogramDeclaration<"verb" | "host"> = {
  name: "rest_client_request_duration_seconds",
  type: "histogram",
  help: "Request latency in seconds, partitioned by verb and host",
  labels: ["verb", "host"],
  buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  mostValues,
  processes,
};

export const inFlightLimit: GaugeDeclaration<"host"> = {
  name: "klutch_api_in_flight_limit",
  type: "gauge",
  help: "Requests that may be in flight at the same time, as the adaptive flow control of the clients has it",
  labels: ["host"],
  mostValues,
  processes,
};
