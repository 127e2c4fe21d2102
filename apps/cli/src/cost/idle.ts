/** `klutch cost --idle`: databases that no client uses. */
import { idleDays } from "@klutch/api";
import { type IdleDatabase, type IdleReport, shownBytes } from "@klutch/services";
import { CliError } from "../errors.ts";
import { counted } from "../findings.ts";
import { columns, documentText } from "../output.ts";
import { type CostFormat, csvLine } from "./print.ts";

/** Longest time that can be asked for; ledgers are not older. */
const mostDays = 3_650;

/** Reads the flag: days such as `30` or `30d`. Undefined without the flag. Throws `CliError`. */
export function idleDaysIn(value: unknown): number | undefined {
  if (value === undefined || value === false) return undefined;
  if (value === true) return idleDays;
  const text = typeof value === "string" ? value : "";
  const [, days = ""] = /^(\d{1,4})d?$/.exec(text) ?? [];
  const read = Number(days);
  if (days !== "" && read >= 1 && read <= mostDays) return read;
  throw new CliError(
    "Usage",
    `--idle ${JSON.stringify(text)} is no number of days from 1 to ${mostDays}; write for example 30d.`,
  );
}

/** Returns the text for standard output; undefined if there is none for people. */
export function printedIdle(report: IdleReport, days: number, format: CostFormat): string | undefined {
  const { databases, existing, known } = report;
  if (format === "csv") return [csvHeader, ...databases.map(csvCells)].map(csvLine).join("");
  if (format === "json" || format === "yaml")
    return documentText({ days, existing, known, idle: databases.map(exactRow) }, format);
  if (databases.length === 0) return undefined;
  const isWide = format === "wide";
  return columns([
    [...header, ...(isWide ? ["BROKER", "ASKED"] : [])],
    ...databases.map((one) => [...cells(one), ...(isWide ? [one.config, one.at] : [])]),
  ]);
}

/** Says of how many databases the answer is known, so that silence of brokers does not look like use. */
export function idleWords({ databases, existing, known }: IdleReport, days: number): string {
  if (existing === 0) return "No database exists.";
  const told = `Brokers tell the last session of ${known} of ${counted(existing, "database")}; nothing is known of the others. See docs/cost.md.`;
  const none = `No database is known to be without a session for ${counted(days, "day")}. `;
  return `${databases.length === 0 ? none : ""}${known === existing ? "" : told}`.trim();
}

const header = "TENANT NAMESPACE CLAIM SERVICE PLAN LAST-SESSION DAYS SIZE PER-MONTH CURRENCY".split(" ");

function cells({ bytes, perMonth, ...one }: IdleDatabase): readonly string[] {
  return [
    one.tenant,
    one.namespace,
    one.claim,
    one.service,
    one.plan,
    one.lastSession,
    String(one.days),
    bytes === undefined ? "unknown" : shownBytes(BigInt(bytes)),
    perMonth?.amount ?? "no price",
    perMonth?.currency ?? "",
  ];
}

const csvHeader =
  "tenant namespace claim service plan broker lastSession asked days bytes perMonth currency".split(" ");

function csvCells(one: IdleDatabase): readonly (string | number)[] {
  const row = exactRow(one);
  return csvHeader.map((name) => row[name] ?? "");
}

function exactRow({
  config,
  at,
  bytes,
  perMonth,
  ...one
}: IdleDatabase): Readonly<Record<string, string | number>> {
  const { tenant, namespace, claim, service, plan, lastSession, days } = one;
  return {
    tenant,
    namespace,
    claim,
    service,
    plan,
    broker: config,
    lastSession,
    asked: at,
    days,
    ...(bytes !== undefined && { bytes }),
    ...(perMonth !== undefined && { perMonth: perMonth.amount, currency: perMonth.currency }),
  };
}
