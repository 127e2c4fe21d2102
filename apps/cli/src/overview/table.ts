/** Prints rows of an overview: as a table, or for programs. Cells may hold a stranger's words; what prints them cleans them. */
import { printable } from "@klutch/api";
import { ageText, columns, documentText } from "../output.ts";

/** Formats of lists; undefined is a table. */
export const listFormats = ["json", "yaml", "wide", "name"] as const;
export type ListFormat = (typeof listFormats)[number];

/** One row. The names of its fields are those of `-o json`. */
export interface Row {
  /** For `-o name`: `<kind>.<group>/<name>`. */
  readonly ref: string;
  readonly isWell: boolean;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** A column: a field of the rows, and whether only `-o wide` shows it. */
export interface Column {
  readonly field: string;
  readonly title: string;
  readonly isWide?: boolean;
}

/** Returns the rows in a format. `now` is for ages, in milliseconds since the epoch. */
export function formatRows(
  rows: readonly Row[],
  shown: readonly Column[],
  format: ListFormat | undefined,
): string {
  if (format === "name") return rows.map(({ ref }) => `${printable(ref)}\n`).join("");
  const items = rows.map(({ fields, isWell }) => ({ ...cleaned(fields), well: isWell }));
  if (format === "json" || format === "yaml") return documentText({ items }, format);
  const visible = shown.filter(({ isWide }) => isWide !== true || format === "wide");
  const cells = rows.map(({ fields }) => visible.map(({ field }) => String(fields[field] ?? "")));
  return columns([visible.map(({ title }) => title), ...cells]);
}

function cleaned(fields: Row["fields"]): Row["fields"] {
  const entries = Object.entries(fields).map(
    ([name, value]) => [name, typeof value === "string" ? printable(value) : value] as const,
  );
  return Object.fromEntries(entries);
}

/** Returns an age as kubectl prints it; `-` for a time that is missing or malformed. */
export function ageOf(time: string | undefined, now: number): string {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? "-" : ageText(now - at);
}
