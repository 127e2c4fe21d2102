/** The text format of Prometheus, version 0.0.4. */
import type { MetricDeclaration } from "./declaration.ts";
import type { HistogramChild } from "./series.ts";

/** HELP and TYPE, which stand also while there is no value yet. */
export function headerOf({ name, help, type }: MetricDeclaration): readonly string[] {
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`];
}

/** One line. */
export function numberLine(
  { name, labels }: MetricDeclaration,
  values: readonly string[],
  value: number,
): string {
  return `${name}${labelsText(labels, values)} ${numberText(value)}`;
}

/** Buckets, sum and count. */
export function histogramLines(
  { name, labels, buckets = [] }: MetricDeclaration,
  values: readonly string[],
  child: HistogramChild,
): readonly string[] {
  const lines: string[] = [];
  let count = 0;
  for (const [index, counted] of child.counts.entries()) {
    count += counted;
    const bound = buckets[index];
    const le = bound === undefined ? "+Inf" : numberText(bound);
    lines.push(`${name}_bucket${labelsText([...labels, "le"], [...values, le])} ${count}`);
  }
  lines.push(`${name}_sum${labelsText(labels, values)} ${numberText(child.sum)}`);
  lines.push(`${name}_count${labelsText(labels, values)} ${count}`);
  return lines;
}

function labelsText(labels: readonly string[], values: readonly string[]): string {
  if (labels.length === 0) return "";
  return `{${labels.map((label, index) => `${label}="${escapeValue(values[index] ?? "")}"`).join(",")}}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
