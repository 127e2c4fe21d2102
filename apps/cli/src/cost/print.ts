/** Prints a bill: a table for people, or exact numbers for programs. */
import { addedBackups, isUnsized, type KeptBackups } from "@klutch/api";
import {
  addedData,
  type BilledData,
  type BillLine,
  type DamagedLedger,
  type DoubtfulBackup,
  exactMoney,
  type Period,
  shownBytes,
  shownGibMonths,
  shownMoney,
} from "@klutch/services";
import { columns, documentText } from "../output.ts";
import type { BudgetMark } from "./budgets.ts";

/** Formats of `klutch cost`. */
export const costFormats = ["wide", "json", "yaml", "csv"] as const;
/** One of them; undefined is the short table. */
export type CostFormat = (typeof costFormats)[number] | undefined;

/** Facts beside the lines, for `json` and `yaml`. */
export interface CostNotes {
  readonly marks?: readonly BudgetMark[];
  readonly damaged?: readonly DamagedLedger[];
  readonly doubtful?: readonly DoubtfulBackup[];
}

/** Returns the text for standard output. */
export function printedBill(
  lines: readonly BillLine[],
  period: Pick<Period, "since" | "until">,
  format: CostFormat,
  { marks = [], damaged = [], doubtful = [] }: CostNotes = {},
): string {
  if (format === "csv") return csvOf(lines);
  if (format === "wide") return wideTable(lines);
  if (format === undefined) return shortTable(lines);
  const document = {
    ...period,
    lines: lines.map(exactLine),
    totals: totalsOf(lines),
    ...(marks.length > 0 && { budgets: marks }),
    ...(damaged.length > 0 && { damagedLedgers: damaged }),
    ...(doubtful.length > 0 && { doubtfulBackups: doubtful }),
  };
  return documentText(document, format);
}

/** Sums by currency. Amounts of different currencies are never added. */
export function totalsOf(
  lines: readonly BillLine[],
): readonly { readonly currency: string; readonly cost: string }[] {
  return [...sumsBy(lines, ({ currency }) => currency)].map(([currency, { micros }]) => ({
    currency,
    cost: exactMoney(micros),
  }));
}

function exactLine(line: BillLine): Readonly<Record<string, string | number>> {
  const { tenant, service, plan, config, month, seconds, ended, currency, micros } = line;
  const known = { tenant, service, plan, broker: config, month, seconds, ended };
  const priced = currency === undefined ? {} : { cost: exactMoney(micros), currency };
  return { ...known, ...priced, ...exactBackups(line), ...exactData(line) };
}

/** Bytes are a text: the sum of many databases may be larger than JSON's exact numbers. */
function exactData({ data }: BillLine): Readonly<Record<string, string | number>> {
  return data === undefined ? {} : { bytes: String(data.bytes), unsizedDatabases: data.unsized };
}

/** Byte-seconds are a text: JSON's numbers are not exact enough. */
function exactBackups({ backups }: BillLine): Readonly<Record<string, string | number>> {
  if (backups === undefined) return {};
  const { made, seconds, unsizedSeconds, byteSeconds, micros } = backups;
  return {
    backups: made,
    backupSeconds: seconds,
    unsizedBackupSeconds: unsizedSeconds,
    ...(!isUnsized(backups) && { backupByteSeconds: String(byteSeconds) }),
    ...(micros !== undefined && { backupCost: exactMoney(micros) }),
  };
}

const words = (text: string): readonly string[] => text.split(" ");

const wideHeader = words(
  "TENANT SERVICE PLAN BROKER MONTH ENDED HOURS SIZE BACKUPS BACKUP-HOURS BACKUP-GIB-MONTHS BACKUP-COST COST CURRENCY",
);

/** Columns of later releases come after those of earlier ones. */
const csvHeader = words(
  "tenant service plan broker month seconds ended cost currency backups backupSeconds unsizedBackupSeconds backupByteSeconds backupCost bytes unsizedDatabases",
);

function csvOf(lines: readonly BillLine[]): string {
  const rows = lines.map((line) => {
    const exact = exactLine(line);
    return csvHeader.map((name) => exact[name] ?? "");
  });
  return [csvHeader, ...rows].map(csvLine).join("");
}

/** Returns a line of CSV. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(",")}\n`;
}

/** Quotes a cell (RFC 4180). A text that spreadsheets would run as a formula gets an apostrophe. */
function csvCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

interface Sum {
  readonly line: BillLine;
  readonly seconds: number;
  readonly ended: number;
  readonly backups: KeptBackups | undefined;
  readonly data: BilledData | undefined;
  readonly micros: bigint;
}

/** Lines without a key are left out. */
function sumsBy(
  lines: readonly BillLine[],
  keyOf: (line: BillLine) => string | undefined,
): ReadonlyMap<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const line of lines) {
    const key = keyOf(line);
    if (key === undefined) continue;
    const { seconds = 0, ended = 0, micros = 0n, backups, data } = sums.get(key) ?? {};
    sums.set(key, {
      line,
      seconds: seconds + line.seconds,
      ended: ended + line.ended,
      backups: line.backups === undefined ? backups : addedBackups(backups, line.backups),
      data: line.data === undefined ? data : addedData(data, line.data),
      micros: micros + line.micros,
    });
  }
  return sums;
}

function shortTable(lines: readonly BillLine[]): string {
  const sums = sumsBy(lines, ({ tenant, service, plan, currency }) =>
    JSON.stringify([tenant, service, plan, currency]),
  );
  const rows = [...sums.values()].map(({ line, seconds, backups, data, micros }) => [
    line.tenant,
    line.service,
    line.plan,
    hoursText(seconds),
    sizeText(data),
    madeText(backups),
    keptText(backups),
    ...costCells(line, micros),
  ]);
  return columns([
    ["TENANT", "SERVICE", "PLAN", "HOURS", "SIZE", "BACKUPS", "BACKUP-GIB-MONTHS", "COST", "CURRENCY"],
    ...rows,
    ...totalRows(lines, 7),
  ]);
}

function wideTable(lines: readonly BillLine[]): string {
  const rows = lines.map((line) => [
    line.tenant,
    line.service,
    line.plan,
    line.config,
    line.month,
    String(line.ended),
    hoursText(line.seconds),
    sizeText(line.data),
    madeText(line.backups),
    line.backups === undefined ? "-" : hoursText(line.backups.seconds),
    keptText(line.backups),
    line.backups?.micros === undefined ? "-" : shownMoney(line.backups.micros),
    ...costCells(line, line.micros),
  ]);
  return columns([wideHeader, ...rows, ...totalRows(lines, 12)]);
}

function madeText(backups: KeptBackups | undefined): string {
  return backups === undefined ? "-" : String(backups.made);
}

/** Never tells 0 of databases whose size is unknown. */
function sizeText(data: BilledData | undefined): string {
  if (data === undefined) return "-";
  const known = shownBytes(data.bytes);
  return data.unsized > 0 ? `${known}, some unknown` : known;
}

/** Never tells 0 of backups whose size is unknown. */
function keptText(backups: KeptBackups | undefined): string {
  if (backups === undefined) return "-";
  if (isUnsized(backups)) return "size unknown";
  const known = shownGibMonths(backups.byteSeconds);
  return backups.unsizedSeconds > 0 ? `${known}, some unknown` : known;
}

function costCells({ currency }: BillLine, micros: bigint): readonly string[] {
  return currency === undefined ? ["no price", ""] : [shownMoney(micros), currency];
}

function totalRows(lines: readonly BillLine[], before: number): readonly (readonly string[])[] {
  return [...sumsBy(lines, ({ currency }) => currency)].map(([currency, { micros }]) => [
    "Total",
    ...Array.from({ length: before - 1 }, () => ""),
    shownMoney(micros),
    currency,
  ]);
}

/** Two digits after the point, rounded down. */
function hoursText(seconds: number): string {
  const hundredths = Math.floor((seconds % 3_600) / 36);
  return `${Math.floor(seconds / 3_600)}.${String(hundredths).padStart(2, "0")}`;
}
