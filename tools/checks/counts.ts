/** Counts the lines of source and of tests of each part. */
import { isTestSupport, type SourceFile } from "./source-files.ts";

/** Lines of one part, such as `packages/kube`; comments and empty lines count. */
export interface PartCount {
  readonly part: string;
  readonly source: number;
  readonly tests: number;
  /** The longest file. */
  readonly longest: { readonly path: string; readonly lines: number };
  /** Files of more than 300 lines. */
  readonly over300: number;
}

/** Counts the files of each package, app and other top folder. */
export function countLines(files: readonly SourceFile[]): readonly PartCount[] {
  const measured = files.map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }));
  return [...Map.groupBy(measured, ({ path }) => partOf(path))].map(([part, members]) => {
    const tests = sum(members.filter(({ path }) => isTestSupport(path)));
    const longest = members.reduce((most, file) => (file.lines > most.lines ? file : most));
    return {
      part,
      source: sum(members) - tests,
      tests,
      longest,
      over300: members.filter(({ lines }) => lines > 300).length,
    };
  });
}

/** The totals: what ships, what surrounds it on a developer's machine, and what proves it. */
const totals: readonly (readonly [name: string, folders: readonly string[]])[] = [
  ["shipped", ["packages", "apps"]],
  ["sandbox", ["sandbox"]],
  ["proof", ["proof"]],
];

/** Renders the counts as a table that ends with the totals. */
export function countsTable(counts: readonly PartCount[]): string {
  const sums = totals.map(([part, folders]) => {
    const members = counts.filter((count) => folders.includes(count.part.split("/")[0] ?? ""));
    const total = (key: "source" | "tests" | "over300"): number =>
      members.reduce((lines, count) => lines + count[key], 0);
    return { part, source: total("source"), tests: total("tests"), over300: total("over300") };
  });
  const rows = [...counts, ...sums].map((count) =>
    row(
      count.part,
      count.source,
      count.tests,
      ratio(count),
      count.over300,
      "longest" in count ? `${count.longest.lines} ${count.longest.path}` : "",
    ),
  );
  return [row("part", "source", "tests", "ratio", ">300", "longest file"), ...rows].join("\n");
}

function row(part: string, ...cells: readonly (string | number)[]): string {
  const [source = "", tests = "", share = "", over300 = "", longest = ""] = cells.map(String);
  const numbers = [source.padStart(6), tests.padStart(6), share.padStart(5), over300.padStart(4)];
  return `${part.padEnd(26)} ${numbers.join(" ")}  ${longest}`.trimEnd();
}

function ratio({ source, tests }: { readonly source: number; readonly tests: number }): string {
  return source === 0 ? "-" : (tests / source).toFixed(2);
}

function partOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return ["packages", "apps", "sandbox", "proof"].includes(first) ? `${first}/${second}` : first;
}

function sum(files: readonly { readonly lines: number }[]): number {
  return files.reduce((lines, file) => lines + file.lines, 0);
}
