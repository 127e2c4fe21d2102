/** The numbers behind one metric. Children are bound to their labels once, so that counting costs a few additions. */
import type { MetricDeclaration } from "./declaration.ts";

/** Values of a metric's labels. Never text that users choose: every value is a new time series. */
export type LabelValues<L extends string> = Readonly<Record<L, string>>;

/** One value of a gauge that is read when the metrics are scraped. */
export interface Sample<L extends string> {
  readonly labels: LabelValues<L>;
  readonly value: number;
}

/** What stands in for the values of a label beyond `mostValues`. */
const otherValue = "other";

/** A single number. */
export class NumberChild {
  value = 0;

  /** By 1 unless said otherwise. */
  inc(by = 1): void {
    this.value += by;
  }

  set(value: number): void {
    this.value = value;
  }
}

/** A distribution. */
export class HistogramChild {
  /** Not cumulative; the last one is of what is above all bounds. */
  readonly counts: number[];
  sum = 0;
  readonly #bounds: readonly number[];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    this.sum += value;
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value <= (this.#bounds[middle] ?? 0)) high = middle;
      else low = middle + 1;
    }
    this.counts[low] = (this.counts[low] ?? 0) + 1;
  }
}

/** One metric of a registry with its children. */
export class Series<C extends NumberChild | HistogramChild> {
  readonly declaration: MetricDeclaration;
  readonly children: Map<string, { readonly values: readonly string[]; readonly child: C }> = new Map();
  readonly #create: () => C;
  /** Values of bounded labels that were seen first. */
  readonly #seen = new Map<string, Set<string>>();

  constructor(declaration: MetricDeclaration, create: () => C) {
    this.declaration = declaration;
    this.#create = create;
    if (declaration.labels.length === 0) this.labels({});
  }

  /** The child with these labels; the same one each time. */
  labels(values: LabelValues<string>): C {
    const texts = this.valuesOf(values);
    const key = texts.join("\u0000");
    let found = this.children.get(key);
    if (found === undefined) this.children.set(key, (found = { values: texts, child: this.#create() }));
    return found.child;
  }

  /** Values in the order of the labels; those of bounded labels beyond their number are `other`. */
  valuesOf(values: LabelValues<string>): readonly string[] {
    const { labels, mostValues = {} } = this.declaration;
    return labels.map((label) => {
      const value = values[label] ?? "";
      const most: number | undefined = (mostValues as Readonly<Record<string, number>>)[label];
      if (most === undefined) return value;
      const seen = this.#seen.get(label) ?? new Set<string>();
      this.#seen.set(label, seen);
      if (seen.size < most) seen.add(value);
      return seen.has(value) ? value : otherValue;
    });
  }
}
