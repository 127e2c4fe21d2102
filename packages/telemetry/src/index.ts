/** Logs, metrics and redaction for every part. */
export {
  createLogger,
  type LogFields,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  silentLogger,
} from "./logger.ts";
export {
  type CounterMetric,
  createMetrics,
  type GaugeMetric,
  type HistogramMetric,
  type Labels,
  type Metrics,
} from "./metrics.ts";
export { Secret } from "./secret.ts";
