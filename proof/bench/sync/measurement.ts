/** Turns the figures of several runs into one line of the report. */
import { formatTable, median } from "../harness/statistics.ts";

/** One figure of one run. */
export interface Measurement {
  /** The name of the figure, the same in every run: `burst of 300: claims/s`. */
  readonly metric: string;
  /** `ms`, `s`, `MiB`, `/s`, … or "". */
  readonly unit: string;
  readonly value: number;
  /** Undefined: reported, but nothing is promised. */
  readonly target?: Target | undefined;
}

/** Bounds a figure, set before it was measured. */
export type Target = { readonly atMost: number } | { readonly atLeast: number };

/** All runs of one figure. */
export interface Summary extends Omit<Measurement, "value"> {
  readonly median: number;
  readonly all: readonly number[];
  /** True when the median meets the target; undefined without one. */
  readonly isMet: boolean | undefined;
}

/** Groups by metric, in the order of their first appearance. */
export function summarise(measurements: readonly Measurement[]): Summary[] {
  const groups = Map.groupBy(measurements, ({ metric }) => metric);
  return [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map((first) => {
      const all = group.map(({ value }) => value);
      const middle = median(all);
      return { ...first, all, median: middle, isMet: meets(middle, first.target) };
    }),
  );
}

function meets(value: number, target: Measurement["target"]): boolean | undefined {
  if (target === undefined) return undefined;
  return "atMost" in target ? value <= target.atMost : value >= target.atLeast;
}

/** The closing table. */
export function formatSummaries(summaries: readonly Summary[]): string {
  const rows = summaries.map(({ metric, unit, target, median: middle, all, isMet }) => [
    metric,
    formatTarget(target, unit),
    withUnit(formatNumber(middle), unit),
    all.map(formatNumber).join(", "),
    isMet === undefined ? "" : isMet ? "yes" : "NO",
  ]);
  return formatTable(["metric", "target", "median", "all runs", "ok?"], rows);
}

/** `12.3 ms`. */
function withUnit(text: string, unit: string): string {
  return unit === "" || unit.startsWith("/") ? `${text}${unit}` : `${text} ${unit}`;
}

function formatTarget(target: Measurement["target"], unit: string): string {
  if (target === undefined) return "";
  const [sign, value] = "atMost" in target ? ["≤", target.atMost] : ["≥", target.atLeast];
  return `${sign} ${withUnit(String(value), unit)}`;
}

/** Three significant digits where they matter. */
function formatNumber(value: number): string {
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
