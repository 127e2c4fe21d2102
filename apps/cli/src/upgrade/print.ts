/** The report of `klutch upgrade --check` for people. */
import { columns } from "../output.ts";
import type { Findings, Report } from "./report.ts";

/** One list of the report. */
interface Table {
  readonly title: string;
  readonly list: keyof Findings;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Prints tables, each with a heading; empty ones are left out. */
export function textOf(report: Report): string {
  const { release, role, counts } = report;
  const tables = tablesOf(report).map((table) => tableText(table, counts[table.list]));
  return [`Klutch ${release} looked at ${role}. Nothing was written.\n`, ...tables].join("");
}

function tablesOf({ running, changes, inherited, against, notes }: Findings): readonly Table[] {
  return [
    {
      title: "What runs",
      list: "running",
      head: ["PART", "NAME", "VERSION", "STATE"],
      rows: running.map((row) => [row.part, row.name, row.version, row.state]),
    },
    {
      title: "Changes of the upgrade",
      list: "changes",
      head: ["OBJECT", "EFFECT", "CHANGE"],
      rows: changes.map((row) => [row.object, row.effect, row.change]),
    },
    {
      title: "Left by an older installation",
      list: "inherited",
      head: ["OBJECT", "OUTCOME", "WHAT"],
      rows: inherited.map((row) => [row.object, row.outcome, row.what]),
    },
    {
      title: "Obstacles to the upgrade",
      list: "against",
      head: ["OBJECT", "FIELD", "VALUE", "EXPECTED"],
      rows: against.map((row) => [row.object, row.field, row.value, row.expected]),
    },
    { title: "Notes", list: "notes", head: [], rows: notes.map((note) => [note]) },
  ];
}

/** `count` is how many rows there were before the list was cut. */
function tableText({ title, head, rows }: Table, count: number): string {
  if (rows.length === 0) return "";
  const more = count - rows.length;
  return `\n${title}\n${columns([head, ...rows])}${more > 0 ? `… and ${more} more\n` : ""}`;
}
