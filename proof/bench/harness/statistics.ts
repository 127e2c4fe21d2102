/** Order statistics and trends of a sample, and tables of figures as Markdown, so that they can be pasted into proof/bench/RESULTS.md. */

/** The figures of a latency report, in milliseconds. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Returns the nearest-rank percentiles of a non-empty sample. Throws on an empty one. */
export function percentiles(sample: readonly number[]): Percentiles {
  if (sample.length === 0) throw new Error("percentiles of an empty sample");
  const at = (share: number): number => quantile(sample, share);
  return { count: sample.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

/** Returns the value below which this share of the values lies, such as 0.5 for the median; the greatest for 1. 0 when there are none. */
export function quantile(values: readonly number[], share: number): number {
  const index = Math.max(0, Math.ceil(share * values.length) - 1);
  return values.toSorted((one, other) => one - other)[index] ?? 0;
}

/** Writes milliseconds as seconds with one digit. */
export function secondsText(timeMs: number): string {
  return `${(timeMs / 1000).toFixed(1)} s`;
}

/** The middle of a non-empty sample; the mean of the two in the middle when their number is even. */
export function median(sample: readonly number[]): number {
  const sorted = sample.toSorted((left, right) => left - right);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) throw new Error("median of an empty sample");
  return (low + high) / 2;
}

/** A straight line through points by least squares. */
export interface Trend {
  /** Change of y for each unit of x. */
  readonly slope: number;
  /** Standard error of the slope, as if the points were independent; 0 for two points. */
  readonly error: number;
}

/** The trend of at least two points with different x. Throws otherwise. */
export function trend(points: readonly (readonly [x: number, y: number])[]): Trend {
  const count = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  if (count < 2 || spread === 0) throw new Error("a trend needs two points with different x");
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const rest = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  return { slope, error: count === 2 ? 0 : Math.sqrt(rest / (count - 2) / spread) };
}

/** Returns the lowest point of each stretch of `width` in x, which takes the teeth off a sawtooth. */
export function lowestOfEach<P extends readonly [x: number, y: number]>(
  points: readonly P[],
  width: number,
): readonly P[] {
  const lowest = new Map<number, P>();
  for (const point of points) {
    const stretch = Math.floor(point[0] / width);
    const known = lowest.get(stretch);
    if (known === undefined || point[1] < known[1]) lowest.set(stretch, point);
  }
  return [...lowest.values()];
}

/** Returns one line for people: `p50 9.8 ms, p90 …`. */
export function formatPercentiles(value: Percentiles): string {
  const ms = (number: number): string => `${number.toFixed(1)} ms`;
  return `p50 ${ms(value.p50)}, p90 ${ms(value.p90)}, p99 ${ms(value.p99)}, max ${ms(value.max)} (n=${value.count})`;
}

/** Columns are padded to the widest cell; numbers are aligned to the right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const isNumeric = header.map((_, column) => rows.every((row) => /^[-–\d. %]*$/.test(row[column] ?? "")));
  const line = (cells: readonly string[]): string => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? "";
      return isNumeric[column] === true ? cell.padStart(width) : cell.padEnd(width);
    });
    return `| ${padded.join(" | ")} |`;
  };
  const rule = widths.map((width, column) =>
    isNumeric[column] === true ? `${"-".repeat(width - 1)}:` : "-".repeat(width),
  );
  return [line(header), line(rule), ...rows.map(line)].join("\n");
}
