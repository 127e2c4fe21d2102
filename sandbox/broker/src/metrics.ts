/** Metrics of the broker. */
import type { CounterDeclaration, HistogramDeclaration, ProcessName } from "@klutch/telemetry";

const ofBroker: readonly ProcessName[] = ["broker"];

export const brokerServed: CounterDeclaration<"operation" | "code"> = {
  name: "klutch_broker_served_requests_total",
  type: "counter",
  help: "Requests that the broker answered, by operation and status code",
  notes:
    "`operation` is a verb of the Open Service Broker API, such as `provision`, or a call of the backup manager, such as `createBackup`.",
  labels: ["operation", "code"],
  processes: ofBroker,
};

export const brokerServedDuration: HistogramDeclaration<"operation"> = {
  name: "klutch_broker_served_request_duration_seconds",
  type: "histogram",
  help: "How long the broker took to answer in seconds, by operation",
  labels: ["operation"],
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  processes: ofBroker,
};
