/** Requests that a process answers, and the certificate that it shows. */
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  ProcessName,
} from "../declaration.ts";

const withCertificate: readonly ProcessName[] = ["backend", "function-klutch"];
const ofFunction: readonly ProcessName[] = ["function-klutch"];
const ofBroker: readonly ProcessName[] = ["broker"];

export const certificateReads: CounterDeclaration = {
  name: "certwatcher_read_certificate_total",
  type: "counter",
  help: "Total number of certificate reads",
  notes:
    "As in controller-runtime. The files are read every ten seconds. Stays 0 in a backend that serves plain HTTP.",
  labels: [],
  processes: withCertificate,
};

export const certificateReadErrors: CounterDeclaration = {
  name: "certwatcher_read_certificate_errors_total",
  type: "counter",
  help: "Total number of certificate read errors",
  notes: "Each stands for ten seconds in which the files could not be served, and what was there before is.",
  labels: [],
  processes: withCertificate,
};

export const certificateExpiration: GaugeDeclaration = {
  name: "klutch_served_certificate_expiration_timestamp_seconds",
  type: "gauge",
  help: "When the certificate that is shown to clients ends, in seconds since the epoch",
  labels: [],
  processes: withCertificate,
};

export const grpcStarted: CounterDeclaration<"grpc_type" | "grpc_service" | "grpc_method"> = {
  name: "grpc_server_started_total",
  type: "counter",
  help: "Total number of RPCs started on the server",
  notes: "As in gRPC's own Prometheus middleware.",
  labels: ["grpc_type", "grpc_service", "grpc_method"],
  processes: ofFunction,
};

export const grpcHandled: CounterDeclaration<"grpc_type" | "grpc_service" | "grpc_method" | "grpc_code"> = {
  name: "grpc_server_handled_total",
  type: "counter",
  help: "Total number of RPCs completed on the server, by code",
  labels: ["grpc_type", "grpc_service", "grpc_method", "grpc_code"],
  processes: ofFunction,
};

export const grpcHandling: HistogramDeclaration<"grpc_type" | "grpc_service" | "grpc_method"> = {
  name: "grpc_server_handling_seconds",
  type: "histogram",
  help: "Response latency of RPCs that were handled by the server, in seconds",
  labels: ["grpc_type", "grpc_service", "grpc_method"],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  processes: ofFunction,
};

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
