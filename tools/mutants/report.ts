/** The verdicts on mutants: as tables for people, as JSON, and beside those of another tree. */
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

/**
 * Returns the mutants that the other run caught and this one did not, and how many both runs had. Trees differ in line numbers, so a mutant is known
 * by its file, its mutator and its line before and after.
 */
export function compare(
  verdicts: readonly Verdict[],
  others: readonly Verdict[],
): { readonly lost: readonly Verdict[]; readonly shared: number } {
  const key = ({ file, mutator, before, after }: Verdict): string =>
    [file, mutator, before, after].join("\n");
  const own = new Map(verdicts.map((verdict) => [key(verdict), verdict]));
  const shared = others.filter((other) => own.has(key(other)));
  const lost = shared.filter(
    (other) => other.outcome !== "survived" && own.get(key(other))?.outcome === "survived",
  );
  return { lost, shared: shared.length };
}

/** Reads what `--out` wrote. Throws when it is something else. */
export function parseVerdicts(text: string): readonly Verdict[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value) || !value.every(isVerdict))
    throw new Error("the file holds no verdicts on mutants");
  return value;
}

function isVerdict(value: unknown): value is Verdict {
  return value instanceof Object && "mutator" in value && "before" in value && "outcome" in value;
}

function row(part: string, ...cells: readonly (string | number)[]): string {
  return part.padEnd(26) + cells.map((cell) => String(cell).padStart(9)).join("");
}
