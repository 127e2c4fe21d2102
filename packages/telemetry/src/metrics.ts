/**
 * Metrics for Prometheus: one registry for each process, no global state. prom-client counts and writes the text. Of our own are the
 * types of labels, the bounds of labels whose values come from outside, and that several sources may read for one gauge.
 */
import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from "prom-client";
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  MetricDeclaration,
} from "./declaration.ts";
import { children, type Labelled, type Sample } from "./labels.ts";
import { Readings } from "./readings.ts";

/** A counter with its labels. Only ever grows. */
export interface Counter {
  /** By 1 unless said otherwise. */
  inc(by?: number): void;
}
/** A gauge with its labels. */
export interface Gauge {
  set(value: number): void;
}
/** A histogram with its labels. */
export interface Histogram {
  /** Throws when the value is not finite. */
  observe(value: number): void;
}

/** A registry and its makers. Asking again for a metric gives the one that exists, so that clients can share it. */
export interface Metrics {
  counter<L extends string>(declaration: CounterDeclaration<L>): Labelled<L, Counter>;
  gauge<L extends string>(declaration: GaugeDeclaration<L>): Labelled<L, Gauge>;
  histogram<L extends string>(declaration: HistogramDeclaration<L>): Labelled<L, Histogram>;
  /**
   * A gauge that is read when the metrics are scraped, until it is disposed. Several sources may read for the same labels; the
   * declaration says how they are combined.
   */
  read<L extends string>(declaration: GaugeDeclaration<L>, read: () => Iterable<Sample<L>>): Disposable;
  /** The exposition text (Prometheus text format 0.0.4). */
  text(): Promise<string>;
}

/** A new, empty registry; `processMetrics` adds CPU, memory and event-loop figures of this process. Default false. */
export function createMetrics(options: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics === true) {
    collectDefaultMetrics({ register: registry });
    for (const name of misnamed) registry.removeSingleMetric(name);
  }
  return metricsIn(registry);
}

/** Gauges with the ending of counters, which Prometheus' checks refuse. Each is the sum of the one of its name without `_total`. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** Children are bound to their labels once, and shown with a zero from then on: a rate needs a beginning. */
function metricsIn(registry: Registry): Metrics {
  const registers = [registry];
  const readings = once((declaration) => readingsOf(declaration, registers));
  return {
    counter: once((declaration) => {
      const counter = new PromCounter({ ...described(declaration), registers });
      return children(declaration, (labels): Counter => {
        counter.inc(labels, 0);
        return counter.labels(labels);
      });
    }),
    gauge: once((declaration) => {
      const gauge = new PromGauge({ ...described(declaration), registers });
      return children(declaration, (labels): Gauge => {
        gauge.set(labels, 0);
        return gauge.labels(labels);
      });
    }),
    histogram: once((declaration) => {
      const buckets = [...(declaration.buckets ?? [])];
      const histogram = new PromHistogram({ ...described(declaration), registers, buckets });
      return children(declaration, (labels): Histogram => {
        histogram.zero(labels);
        return histogram.labels(labels);
      });
    }),
    read: (declaration, read) => readings(declaration).add(read),
    text: () => registry.metrics(),
  };
}

/** The sources of a gauge, which are asked at each scrape. */
function readingsOf(declaration: MetricDeclaration, registers: Registry[]): Readings {
  const readings = new Readings(declaration);
  const gauge: PromGauge = new PromGauge({
    ...described(declaration),
    registers,
    collect() {
      gauge.reset();
      // Without labels, reset leaves a zero that was not read.
      gauge.remove({});
      for (const { labels, value } of readings.samples()) gauge.set(labels, value);
    },
  });
  return readings;
}

/** In the library's words. */
function described({ name, help, labels }: MetricDeclaration): {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
} {
  return { name, help, labelNames: labels };
}

/** Makes one for each name. */
function once<T>(create: (declaration: MetricDeclaration) => T): (declaration: MetricDeclaration) => T {
  const known = new Map<string, T>();
  return (declaration) => {
    let made = known.get(declaration.name);
    if (made === undefined) known.set(declaration.name, (made = create(declaration)));
    return made;
  };
}
