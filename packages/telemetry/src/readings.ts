/** Gauges that are read when the metrics are scraped. */
import { boundedSeries } from "./bounded-series.ts";
import type { MetricDeclaration } from "./declaration.ts";
import { keyOf, labelBounds, type LabelValues, type Sample } from "./labels.ts";

type Read = () => Iterable<Sample<string>>;

/** The sources of one gauge. */
export class Readings {
  readonly #sources = new Set<Read>();
  readonly #combine: (left: number, right: number) => number;
  readonly #topValues: MetricDeclaration<"gauge">["topValues"];
  readonly #bound: (values: LabelValues<string>) => LabelValues<string>;

  constructor(declaration: MetricDeclaration) {
    this.#combine = combiners[declaration.combine ?? "sum"];
    this.#topValues = declaration.topValues;
    this.#bound = labelBounds(declaration);
  }

  /** Reads this one, too, until it is disposed. */
  add(read: Read): Disposable {
    // Two sources may be the same function.
    const source: Read = () => read();
    this.#sources.add(source);
    return { [Symbol.dispose]: () => void this.#sources.delete(source) };
  }

  /** Returns the current values of all sources, combined where labels are the same. */
  samples(): Iterable<Sample<string>> {
    if (this.#topValues !== undefined) {
      const samples = [...this.#sources].flatMap((read) => [...read()]);
      return boundedSeries(samples, { most: this.#topValues, combine: this.#combine });
    }
    const combined = new Map<string, Sample<string>>();
    for (const read of this.#sources) {
      for (const { labels: values, value } of read()) {
        const labels = this.#bound(values);
        const key = keyOf(labels);
        const known = combined.get(key);
        combined.set(key, { labels, value: known === undefined ? value : this.#combine(known.value, value) });
      }
    }
    return combined.values();
  }
}

const combiners = {
  sum: (left: number, right: number): number => left + right,
  min: Math.min,
  max: Math.max,
} as const;
