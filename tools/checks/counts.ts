/** Counts the lines of source and of tests of each part; `isTestSupport` tells which files are tests. */
import { isTestSupport, partOf, type SourceFile } from "./tree.ts";

/** Lines of one part, such as `packages/kube`; comments and empty lines count. */
export interface PartCount {
  readonly part: string;
  readonly source: number;
  readonly tests: number;
  /** Files of more than 300 lines. */
  readonly over300: number;
  /** The longest file with its lines; empty for a total. */
  readonly longest: string;
}

/** Names the totals: what ships, what surrounds it on a developer's machine, what proves it, and what makes it. */
const totals: Readonly<Record<string, readonly string[]>> = {
  shipped: ["packages", "apps"],
  sandbox: ["sandbox"],
  proof: ["proof"],
  tools: ["tools"],
};

/** Counts the files of each package, app and other top folder. */
export function countLines(files: readonly SourceFile[]): readonly PartCount[] {
  const measured = files.map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }));
  return [...Map.groupBy(measured, ({ path }) => partOf(path))].map(([part, members]) => {
    const { true: tests = [], false: source = [] } = Object.groupBy(members, ({ path }) =>
      isTestSupport(path) ? "true" : "false",
    );
    const [longest] = members.toSorted((left, right) => right.lines - left.lines);
    return {
      part,
      source: sum(source, "lines"),
      tests: sum(tests, "lines"),
      over300: members.filter(({ lines }) => lines > 300).length,
      longest: longest === undefined ? "" : `${longest.lines} ${longest.path}`,
    };
  });
}

/** Renders the counts as a table that ends with the totals. */
export function countsTable(counts: readonly PartCount[]): string {
  const sums = Object.entries(totals).map(([part, folders]) => {
    const members = counts.filter((count) => folders.includes(count.part.split("/")[0] ?? ""));
    const [source, tests] = [sum(members, "source"), sum(members, "tests")];
    return { part, source, tests, over300: sum(members, "over300"), longest: "" };
  });
  const rows = [...counts, ...sums].map(({ part, source, tests, over300, longest }) =>
    row(part, [source, tests, source === 0 ? "-" : (tests / source).toFixed(2), over300], longest),
  );
  return [row("part", ["source", "tests", "ratio", ">300"], "longest file"), ...rows].join("\n");
}

function row(part: string, numbers: readonly (string | number)[], longest: string): string {
  const cells = numbers.map((cell) => String(cell).padStart(6));
  return `${part.padEnd(26)} ${cells.join(" ")}  ${longest}`.trimEnd();
}

function sum<Key extends string>(members: readonly Readonly<Record<Key, number>>[], key: Key): number {
  return members.reduce((total, member) => total + member[key], 0);
}
