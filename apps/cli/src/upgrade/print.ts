/** The report of `klutch upgrade --check` for people. */
import { columns } from "../output.ts";
import type { Findings, Report } from "./report.ts";

/** Tables, with a heading each; what is empty is left out. */
export function textOf(report: Report): string {
  const { release, role, running, changes, inherited, against, notes, counts } = report;
  const table = (
    title: string,
    key: keyof Findings,
    head: readonly string[],
    rows: readonly (readonly string[])[],
  ): string => {
    if (rows.length === 0) return "";
    const more = counts[key] - rows.length;
    return `\n${title}\n${columns([head, ...rows])}${more > 0 ? `… and ${more} more\n` : ""}`;
  };
  return [
    `Klutch ${release} looked at ${role}. Nothing was written.\n`,
    table(
      "What runs",
      "running",
      ["PART", "NAME", "VERSION", "STATE"],
      running.map((row) => [row.part, row.name, row.version, row.state]),
    ),
    table(
      "What the upgrade changes",
      "changes",
      ["OBJECT", "EFFECT", "CHANGE"],
      changes.map((row) => [row.object, row.effect, row.change]),
    ),
    table(
      "What an older installation left",
      "inherited",
      ["OBJECT", "OUTCOME", "WHAT"],
      inherited.map((row) => [row.object, row.outcome, row.what]),
    ),
    table(
      "What stands against the upgrade",
      "against",
      ["OBJECT", "FIELD", "VALUE", "WHAT WOULD BE RIGHT"],
      against.map((row) => [row.object, row.field, row.value, row.expected]),
    ),
    table(
      "Notes",
      "notes",
      [],
      notes.map((note) => [note]),
    ),
  ].join("");
}
