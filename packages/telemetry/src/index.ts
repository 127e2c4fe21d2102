/** Logs, metrics and redaction for every part. */
export { boundedSeries, type SeriesBounds } from "./bounded-series.ts";
export * as clientMetrics from "./catalogue/clients.ts";
export * as controllerMetrics from "./catalogue/controllers.ts";
export * as serverMetrics from "./catalogue/servers.ts";
export * as traceMetrics from "./catalogue/traces.ts";
export type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  MetricDeclaration,
  MetricType,
  ProcessName,
} from "./declaration.ts";
export { type LabelValues, type Labelled, otherValue, type Sample } from "./labels.ts";
export { type RequestContext, withRequestContext } from "./log-context.ts";
export { faultsOfLine, type LogField, logFields } from "./log-schema.ts";
export {
  createLogger,
  type LogFields,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  silentLogger,
} from "./logger.ts";
export {
  type Counter,
  createMetrics,
  type Gauge,
  type Histogram,
  type Metrics,
} from "./metrics.ts";
export { Secret } from "./secret.ts";
export { type Environment, type ReadTracing, readTracing, type TracingConfig } from "./tracing/config.ts";
export type { TracerParts } from "./tracing/open-telemetry.ts";
export {
  activeScope,
  inSpan,
  type Scope,
  type SpanAttributes,
  type SpanOptions,
  type Tracer,
} from "./tracing/scope.ts";
export { startTracing } from "./tracing/start-tracing.ts";
export { formatTraceparent, parseTraceparent, type SpanIdentity } from "./tracing/traceparent.ts";
