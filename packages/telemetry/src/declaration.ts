/** A metric as data: the registry, the documentation and the checks of names use the same declaration. */

/** Kinds of metrics that we use. */
export type MetricType = "counter" | "gauge" | "histogram";

/** The servers that have metrics. */
export type ProcessName =
  | "konnector"
  | "backend"
  | "gateway"
  | "provider-anynines"
  | "function-klutch"
  | "broker";

/** One metric. `L` are the names of its labels. */
export interface MetricDeclaration<T extends MetricType = MetricType, L extends string = string> {
  readonly name: string;
  readonly type: T;
  /** One sentence. */
  readonly help: string;
  readonly labels: readonly L[];
  /** Values of its labels, and other notes, in sentences of Markdown. */
  readonly notes?: string;
  /** Upper bounds of a histogram, ascending; the last one, infinity, is left out. */
  readonly buckets?: readonly number[];
  /** Labels whose values come from outside, with the number of values that are shown; all others are shown together as `other`. */
  readonly mostValues?: Readonly<Partial<Record<L, number>>>;
  /**
   * Likewise for a gauge that is read: the most frequent values at each scrape are shown, at most 1000 series in all, and values are cut at 63
   * characters.
   */
  readonly topValues?: Readonly<Partial<Record<L, number>>>;
  /** Combines the values of several sources with the same labels, for a gauge that is read. Default `sum`. */
  readonly combine?: "sum" | "min" | "max";
  /** File and line that declare it. */
  readonly processes: readonly ProcessName[];
}

/** Grows only, until the process ends. */
export type CounterDeclaration<L extends string = never> = MetricDeclaration<"counter", L>;
/** Goes up and down. */
export type GaugeDeclaration<L extends string = never> = MetricDeclaration<"gauge", L>;
/** A distribution. */
export type HistogramDeclaration<L extends string = never> = MetricDeclaration<"histogram", L>;
