/** Metrics of a function's server. */
import type { CounterDeclaration, HistogramDeclaration, ProcessName } from "@klutch/telemetry";

const ofFunction: readonly ProcessName[] = ["function-klutch"];

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
