/** Prometheus metrics behind the few calls the parts make. One registry per process part, no global state. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** Label values of one sample. Never user-supplied text: every value is a new time series. */
export type Labels = Readonly<Record<string, string>>;

/** Only ever grows. */
export interface CounterMetric {
  inc(labels?: Labels, by?: number): void;
}
/** Goes up and down. */
export interface GaugeMetric {
  set(value: number, labels?: Labels): void;
}
/** Distribution of durations in seconds, or of sizes in the unit of its name. */
export interface HistogramMetric {
  observe(value: number, labels?: Labels): void;
}

/** A registry and its makers. Asking again for a name of the same kind gives the metric that exists, so that clients can share it. */
export interface Metrics {
  counter(name: string, help: string, labelNames?: readonly string[]): CounterMetric;
  gauge(name: string, help: string, labelNames?: readonly string[]): GaugeMetric;
  /** A gauge whose value is read when the metrics are scraped. */
  observedGauge(name: string, help: string, read: () => number): void;
  histogram(
    name: string,
    help: string,
    labelNames?: readonly string[],
    buckets?: readonly number[],
  ): HistogramMetric;
  /** The exposition text (Prometheus text format 0.0.4). */
  text(): Promise<string>;
}

/** A new, empty registry; `processMetrics` adds CPU, memory and event-loop figures of this process. Default false. */
export function createMetrics(options: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics === true) collectDefaultMetrics({ register: registry });
  const common = (name: string, help: string, labelNames: readonly string[] = []) => ({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
  });
  return {
    counter(name, help, labelNames) {
      const known = registry.getSingleMetric(name);
      const metric = known instanceof Counter ? known : new Counter(common(name, help, labelNames));
      return { inc: (labels = {}, by = 1) => metric.inc({ ...labels }, by) };
    },
    gauge(name, help, labelNames) {
      const known = registry.getSingleMetric(name);
      const metric = known instanceof Gauge ? known : new Gauge(common(name, help, labelNames));
      return { set: (value, labels = {}) => metric.set({ ...labels }, value) };
    },
    observedGauge(name, help, read) {
      new Gauge({
        ...common(name, help),
        collect() {
          this.set(read());
        },
      });
    },
    histogram(name, help, labelNames, buckets) {
      const known = registry.getSingleMetric(name);
      const metric =
        known instanceof Histogram
          ? known
          : new Histogram({
              ...common(name, help, labelNames),
              ...(buckets === undefined ? {} : { buckets: [...buckets] }),
            });
      return { observe: (value, labels = {}) => metric.observe({ ...labels }, value) };
    },
    text: () => registry.metrics(),
  };
}
