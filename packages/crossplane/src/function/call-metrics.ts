/** Counts the calls of a function, with the names and labels of gRPC's own Prometheus middleware. */
import type { Counter, Metrics } from "@klutch/telemetry";
import { FunctionRunnerService } from "../gen/run_function_pb.js";
import * as declarations from "./metrics.ts";

/** The outcome of a call, in gRPC's words. */
export type CallCode = "OK" | "Internal";

/** Takes note of a call's beginning; the returned function of its end. */
export type CountCall = () => (code: CallCode) => void;

const labels = {
  grpc_type: "unary",
  grpc_service: FunctionRunnerService.typeName,
  grpc_method: FunctionRunnerService.method.runFunction.name,
} as const;

/** Without metrics nothing is counted. */
export function createCallMetrics(metrics: Metrics | undefined): CountCall {
  if (metrics === undefined) return () => () => {};
  const started = metrics.counter(declarations.grpcStarted).labels(labels);
  const handledWith = metrics.counter(declarations.grpcHandled);
  const handled: Readonly<Record<CallCode, Counter>> = {
    OK: handledWith.labels({ ...labels, grpc_code: "OK" }),
    Internal: handledWith.labels({ ...labels, grpc_code: "Internal" }),
  };
  const handling = metrics.histogram(declarations.grpcHandling).labels(labels);
  return () => {
    started.inc();
    const startedAt = performance.now();
    return (code) => {
      handled[code].inc();
      handling.observe((performance.now() - startedAt) / 1000);
    };
  };
}
