/** The verdicts on mutants as tables for people. */
import type { Mutant } from "./choose-mutants.ts";

/** A mutant and the test that caught it. */
export interface Verdict extends Omit<Mutant, "text"> {
  /** Kind of tests that caught it; `survived` when none of those that ran did. */
  readonly outcome: "pure" | "real" | "survived";
  /** The test's file and name, `timeout`, or how the process ended; empty for a survivor. */
  readonly caughtBy: string;
  readonly seconds: number;
}

/** Returns one line for each part, and a total. */
export function table(verdicts: readonly Verdict[]): string {
  const parts = [...Map.groupBy(verdicts, ({ part }) => part)];
  const rows = [...parts, ["total", verdicts] as const].map(([part, members]) => {
    const count = (outcome: Verdict["outcome"]): number =>
      members.filter((verdict) => verdict.outcome === outcome).length;
    return row(part, members.length, count("pure"), count("real"), count("survived"));
  });
  return [row("part", "mutants", "pure", "real", "survived"), ...rows].join("\n");
}

/** Returns the change of one line as a diff of it. */
export function diffOf({ id, before, after }: Pick<Verdict, "id" | "before" | "after">): string {
  return `${id}\n    - ${before}\n    + ${after}`;
}

/** Returns the survivors' diffs, or a sentence if nothing survived. */
export function survivorsText(verdicts: readonly Verdict[]): string {
  const survivors = verdicts.filter(({ outcome }) => outcome === "survived");
  return survivors.length === 0 ? "No mutant survived." : ["Survivors:", ...survivors.map(diffOf)].join("\n");
}

function row(part: string, ...cells: readonly (string | number)[]): string {
  return part.padEnd(26) + cells.map((cell) => String(cell).padStart(9)).join("");
}
