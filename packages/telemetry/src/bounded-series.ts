/**
 * Bounds the series of a gauge that counts objects by words from outside, such as names of tenants, services and plans. The most frequent
 * values of a label are shown each by itself, and all others together as `other`; sums over a label are right whatever is cut.
 */
import { keyOf, type LabelValues, otherValue, type Sample } from "./labels.ts";

/** Options of `boundedSeries`. */
export interface SeriesBounds<L extends string> {
  /** Labels whose values come from outside, with the number of values that are shown. Others have few values of our own. */
  readonly most: Readonly<Partial<Record<L, number>>>;
  /** The most series; the values of smaller ones are `other` in all labels of `most`. Default 1000. */
  readonly mostSeries?: number | undefined;
  /** Combines samples whose labels become equal. Default: their sum. */
  readonly combine?: ((one: number, other: number) => number) | undefined;
}

/** The longest value in characters; longer ones are cut. */
export const longestValue = 63;

interface Row {
  labels: LabelValues<string>;
  value: number;
  /** Samples that it stands for. */
  weight: number;
}

/** Returns the samples within the bounds. Equal samples give equal series, in whatever order they come. */
export function boundedSeries<L extends string>(
  samples: Iterable<Sample<L>>,
  { most, mostSeries = 1000, combine = sum }: SeriesBounds<L>,
): readonly Sample<L>[] {
  const bounds = Object.entries<number | undefined>(most).flatMap(([label, bound]) =>
    bound === undefined ? [] : [[label, bound] as const],
  );
  let rows = merged(rowsOf(samples, bounds), combine);
  for (const [label, bound] of bounds) {
    const kept = mostFrequent(rows, label, bound);
    if (kept === undefined) continue;
    for (const row of rows)
      if (!kept.has(row.labels[label] ?? "")) row.labels = { ...row.labels, [label]: otherValue };
    rows = merged(rows, combine);
  }
  if (rows.length > mostSeries) {
    const others = Object.fromEntries(bounds.map(([label]) => [label, otherValue]));
    const sorted = rows.toSorted(heavierFirst);
    for (const row of sorted.slice(mostSeries)) row.labels = { ...row.labels, ...others };
    rows = merged(sorted, combine);
  }
  return rows.map(({ labels, value }) => ({ labels, value }));
}

function rowsOf<L extends string>(
  samples: Iterable<Sample<L>>,
  bounds: readonly (readonly [string, number])[],
): readonly Row[] {
  return Array.from(samples, ({ labels, value }) => {
    const copied: Record<string, string> = { ...labels };
    for (const [label] of bounds) copied[label] = shortened(copied[label] ?? "");
    return { labels: copied, value, weight: 1 };
  });
}

function shortened(value: string): string {
  return value.length <= longestValue ? value : `${value.slice(0, longestValue - 1).toWellFormed()}…`;
}

function merged(rows: readonly Row[], combine: (one: number, other: number) => number): Row[] {
  const byKey = new Map<string, Row>();
  for (const row of rows) {
    const key = keyOf(row.labels);
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, row);
    else {
      known.value = combine(known.value, row.value);
      known.weight += row.weight;
    }
  }
  return [...byKey.values()];
}

/** Returns the values to show; undefined if all of them fit. Of equally frequent ones the first by name stay, so that series do not jump. */
function mostFrequent(rows: readonly Row[], label: string, bound: number): ReadonlySet<string> | undefined {
  const weights = new Map<string, number>();
  for (const { labels, weight } of rows) {
    const value = labels[label] ?? "";
    if (value !== otherValue) weights.set(value, (weights.get(value) ?? 0) + weight);
  }
  if (weights.size <= bound) return undefined;
  const sorted = [...weights].toSorted(
    ([name, weight], [otherName, otherWeight]) => otherWeight - weight || (name < otherName ? -1 : 1),
  );
  return new Set([...sorted.slice(0, bound).map(([name]) => name), otherValue]);
}

function heavierFirst(one: Row, other: Row): number {
  return other.weight - one.weight || (keyOf(one.labels) < keyOf(other.labels) ? -1 : 1);
}

function sum(one: number, other: number): number {
  return one + other;
}
