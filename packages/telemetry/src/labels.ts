/** The labels of one metric, of which each set of values is a time series. */
import type { MetricDeclaration } from "./declaration.ts";

/** Values of a metric's labels. Never text that users choose: every value is a new time series. */
export type LabelValues<L extends string> = Readonly<Record<L, string>>;

/** One value of a gauge that is read when the metrics are scraped. */
export interface Sample<L extends string> {
  readonly labels: LabelValues<L>;
  readonly value: number;
}

/** Asks for the child with these labels. Keep it: asking costs more than counting. */
export interface Labelled<L extends string, C> {
  labels(values: LabelValues<L>): C;
}

/** Replaces the values of a label beyond `mostValues`. */
export const otherValue = "other";

/** Values in the order of the declaration; those of bounded labels beyond their number are `other`, for as long as it lives. */
export function labelBounds(
  declaration: MetricDeclaration,
): (values: LabelValues<string>) => LabelValues<string> {
  const { labels, mostValues = {} } = declaration;
  const most = new Map<string, number | undefined>(Object.entries(mostValues));
  const seenOf = new Map(labels.map((label) => [label, new Set<string>()]));
  const bounded = (label: string, value: string): string => {
    const [bound, seen] = [most.get(label), seenOf.get(label)];
    if (bound === undefined || seen === undefined) return value;
    if (seen.size < bound) seen.add(value);
    return seen.has(value) ? value : otherValue;
  };
  return (values) => Object.fromEntries(labels.map((label) => [label, bounded(label, values[label] ?? "")]));
}

/** Text that is the same for the same values. */
export function keyOf(values: LabelValues<string>): string {
  return Object.values(values).join("\u0000");
}

/** Gives the same child for the same labels. The child is made, and shown, when it is asked for first. */
export function children<C>(
  declaration: MetricDeclaration,
  create: (values: LabelValues<string>) => C,
): Labelled<string, C> {
  const known = new Map<string, C>();
  const bound = labelBounds(declaration);
  return {
    labels(values) {
      const texts = bound(values);
      const key = keyOf(texts);
      let child = known.get(key);
      if (child === undefined) known.set(key, (child = create(texts)));
      return child;
    },
  };
}
