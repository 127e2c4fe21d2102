/** A cost as a straight line of the number of app clusters: fitted at some sizes, checked at another, and drawn on to sizes that were not run. */
import { trend } from "../harness/statistics.ts";

/** A cost of `base + each × clusters`. */
export interface CostLine {
  readonly base: number;
  readonly each: number;
}

/** One size that was run, and a cost at it. */
export type CostPoint = readonly [clusters: number, cost: number];

/** Fits the line by least squares. Throws unless there are two different sizes. */
export function fitCost(points: readonly CostPoint[]): CostLine {
  const { slope } = trend(points);
  const mean = (at: 0 | 1): number => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  return { base: mean(1) - slope * mean(0), each: slope };
}

/** Returns the line's cost at a size. */
export function costAt({ base, each }: CostLine, clusters: number): number {
  return base + each * clusters;
}

/** A line of all sizes but the largest, and how far the largest is from it in percent of what was seen there. */
export interface CheckedLine {
  readonly line: CostLine;
  readonly expected: number;
  readonly seen: number;
  readonly offPercent: number;
}

/** Checks the line at the largest size. Undefined while there are fewer than three sizes. */
export function checkCost(points: readonly CostPoint[]): CheckedLine | undefined {
  const sorted = points.toSorted(([one], [other]) => one - other);
  const [size, seen] = sorted.at(-1) ?? [0, 0];
  const others = sorted.filter(([clusters]) => clusters !== size);
  if (new Set(others.map(([clusters]) => clusters)).size < 2) return undefined;
  const line = fitCost(others);
  const expected = costAt(line, size);
  return { line, expected, seen, offPercent: seen === 0 ? 0 : (100 * (expected - seen)) / seen };
}
