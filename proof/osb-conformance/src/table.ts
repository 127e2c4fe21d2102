/** The report for people and for programs, and the exit code. Pure. */
import type { Finding } from "./report.ts";
import type { CheckResult } from "./run.ts";

export interface TableOptions {
  readonly url: string;
  /** Shows requests and answers of rules that passed, too. */
  readonly verbose: boolean;
}

const headings = ["RESULT", "LEVEL", "SECTION", "RULE"] as const;

/** Returns lines of text. A broker's words cannot move the cursor: control characters are question marks. */
export function tableOf(result: CheckResult, { url, verbose }: TableOptions): readonly string[] {
  const rows = result.findings.map((finding) => [
    finding.result === "failed" ? "FAILED" : finding.result,
    finding.level,
    finding.section,
    `${finding.text} (${finding.id})`,
  ]);
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  const { plan, version } = result;
  const of = plan === undefined ? "" : `, plan ${plan.planName} of ${plan.serviceName}`;
  return [
    `Open Service Broker API ${version} at ${url}${of}`,
    "",
    line(headings),
    ...result.findings.flatMap((finding, index) => [
      line(rows[index] ?? []),
      ...detailsOf(finding, verbose).map((detail) => `          ${detail}`),
    ]),
    "",
    ...summaryOf(result),
  ].map(printable);
}

function detailsOf({ result, why, evidence }: Finding, verbose: boolean): readonly string[] {
  const words =
    evidence === undefined || (result !== "failed" && !verbose)
      ? []
      : [`sent  ${evidence.sent}`, `came  ${evidence.came}`];
  return [...words, ...(why === "" ? [] : [`why   ${why}`])];
}

function summaryOf({ findings, stoppedBy, leftovers }: CheckResult): readonly string[] {
  const count = (result: Finding["result"], level?: Finding["level"]): number =>
    findings.filter((finding) => finding.result === result && finding.level === (level ?? finding.level))
      .length;
  return [
    `${findings.length} rules: ${count("passed")} passed, ${count("failed", "MUST")} MUST and ` +
      `${count("failed", "SHOULD")} SHOULD failed, ${count("skipped")} were not tested.`,
    ...(stoppedBy === undefined ? [] : [`Not everything was tested: ${stoppedBy}`]),
    ...(leftovers.length === 0
      ? ["Nothing was left at the broker."]
      : ["Still at the broker; delete it by hand:"]),
    ...leftovers.map(({ entry, came }) => {
      const binding = entry.bindingId === undefined ? "" : ` binding ${entry.bindingId} of`;
      return `  ${binding} instance ${entry.instanceId} (service ${entry.serviceId}, plan ${entry.planId}): ${came}`;
    }),
  ];
}

/** Returns the same as JSON, for programs. */
export function jsonOf(result: CheckResult, { url }: Pick<TableOptions, "url">): string {
  const { findings, version, plan, stoppedBy, leftovers } = result;
  const offering = plan === undefined ? undefined : { service: plan.serviceName, plan: plan.planName };
  const json = JSON.stringify({ url, version, ...offering, stoppedBy, findings, leftovers }, undefined, 2);
  // JSON escapes the older control characters itself.
  return json.replaceAll(/[\u007f-\u009f]/g, "?");
}

/** 1: a MUST failed, or something is left. 130: interrupted. 2: not everything could be tested. */
export function exitCodeOf({ findings, stoppedBy, leftovers }: CheckResult, interrupted: boolean): number {
  const failed = findings.some(({ level, result }) => level === "MUST" && result === "failed");
  if (failed || leftovers.length > 0) return 1;
  if (interrupted) return 130;
  return stoppedBy === undefined ? 0 : 2;
}

function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, "?");
}
