/** Metrics for Prometheus: one registry for each process, no global state. */
import { collectDefaultMetrics, Registry } from "prom-client";
import type {
  CounterDeclaration,
  GaugeDeclaration,
  HistogramDeclaration,
  MetricDeclaration,
} from "./declaration.ts";
import { headerOf, histogramLines, numberLine } from "./exposition.ts";
import { HistogramChild, type LabelValues, NumberChild, type Sample, Series } from "./series.ts";

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
  observe(value: number): void;
}
/** Asks for the child with these labels. Keep it: asking costs more than counting. */
export interface Labelled<L extends string, C> {
  labels(values: LabelValues<L>): C;
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
  const ofProcess = new Registry();
  if (options.processMetrics === true) {
    collectDefaultMetrics({ register: ofProcess });
    for (const name of misnamed) ofProcess.removeSingleMetric(name);
  }
  return new MetricRegistry(ofProcess);
}

/** Gauges with the ending of counters, which Prometheus' checks refuse. Each is the sum of the one of its name without `_total`. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

type Read = () => Iterable<Sample<string>>;

class MetricRegistry implements Metrics {
  readonly #ofProcess: Registry;
  readonly #numbers = new Map<string, Series<NumberChild>>();
  readonly #histograms = new Map<string, Series<HistogramChild>>();
  readonly #read = new Map<string, { readonly series: Series<NumberChild>; readonly sources: Set<Read> }>();

  constructor(ofProcess: Registry) {
    this.#ofProcess = ofProcess;
  }

  counter<L extends string>(declaration: CounterDeclaration<L>): Labelled<L, Counter> {
    return this.#number(declaration);
  }

  gauge<L extends string>(declaration: GaugeDeclaration<L>): Labelled<L, Gauge> {
    return this.#number(declaration);
  }

  histogram<L extends string>(declaration: HistogramDeclaration<L>): Labelled<L, Histogram> {
    const { name, buckets = [] } = declaration;
    const known = this.#histograms.get(name);
    if (known !== undefined) return known;
    const series = new Series(declaration, () => new HistogramChild(buckets));
    this.#histograms.set(name, series);
    return series;
  }

  read<L extends string>(declaration: GaugeDeclaration<L>, read: () => Iterable<Sample<L>>): Disposable {
    const { name } = declaration;
    const known = this.#read.get(name) ?? {
      series: new Series(declaration, () => new NumberChild()),
      sources: new Set<Read>(),
    };
    this.#read.set(name, known);
    // Two sources may be the same function.
    const source: Read = () => read();
    known.sources.add(source);
    return { [Symbol.dispose]: () => void known.sources.delete(source) };
  }

  async text(): Promise<string> {
    const own = [...this.#numberLines(), ...this.#readLines(), ...this.#histogramLines()];
    const ofProcess = await this.#ofProcess.metrics();
    return `${[...own, ...(ofProcess.trim() === "" ? [] : [ofProcess.trimEnd()])].join("\n")}\n`;
  }

  #number(declaration: MetricDeclaration): Series<NumberChild> {
    const known = this.#numbers.get(declaration.name);
    if (known !== undefined) return known;
    const series = new Series(declaration, () => new NumberChild());
    this.#numbers.set(declaration.name, series);
    return series;
  }

  *#numberLines(): Iterable<string> {
    for (const { declaration, children } of this.#numbers.values()) {
      yield* headerOf(declaration);
      for (const { values, child } of children.values()) yield numberLine(declaration, values, child.value);
    }
  }

  *#readLines(): Iterable<string> {
    for (const { series, sources } of this.#read.values()) {
      const { declaration } = series;
      yield* headerOf(declaration);
      const combine = combiners[declaration.combine ?? "sum"];
      const combined = new Map<string, { readonly values: readonly string[]; value: number }>();
      for (const read of sources) {
        for (const { labels, value } of read()) {
          const values = series.valuesOf(labels);
          const key = values.join("\u0000");
          const known = combined.get(key);
          if (known === undefined) combined.set(key, { values, value });
          else known.value = combine(known.value, value);
        }
      }
      for (const { values, value } of combined.values()) yield numberLine(declaration, values, value);
    }
  }

  *#histogramLines(): Iterable<string> {
    for (const { declaration, children } of this.#histograms.values()) {
      yield* headerOf(declaration);
      for (const { values, child } of children.values()) yield* histogramLines(declaration, values, child);
    }
  }
}

const combiners = {
  sum: (left: number, right: number): number => left + right,
  min: Math.min,
  max: Math.max,
} as const;
