/** Order statistics of a sample. */

/** What a latency report prints; milliseconds. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Nearest-rank percentiles of a non-empty sample. Throws on an empty one. */
export function percentiles(sample: readonly number[]): Percentiles {
  const sorted = sample.toSorted((left, right) => left - right);
  const at = (fraction: number): number => {
    const value = sorted[Math.min(sorted.length - 1, Math.ceil(fraction * sorted.length) - 1)];
    if (value === undefined) throw new Error("percentiles of an empty sample");
    return value;
  };
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

/** One line for people: `p50 9.8 ms, p90 …`. */
export function formatPercentiles(value: Percentiles): string {
  const ms = (number: number): string => `${number.toFixed(1)} ms`;
  return `p50 ${ms(value.p50)}, p90 ${ms(value.p90)}, p99 ${ms(value.p99)}, max ${ms(value.max)} (n=${value.count})`;
}
