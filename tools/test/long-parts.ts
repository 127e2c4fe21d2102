/** The parts of `npm run test:long`, which long-parts.md lists. */
import { UsageError } from "@klutch/kube-testing";
import { codeWords, rowsIn } from "../generate/page.ts";

/** One part, which can be run by its name. */
export interface LongPart {
  readonly name: string;
  /** Minutes on two cores with warm caches; printed before the run. */
  readonly minutes: number;
  /** Completes the sentence "It tests …". */
  readonly tests: string;
  /** Test files whose path begins so; they end in `.long.test.ts`. */
  readonly files: readonly string[];
  /** Programs that run side by side and count as one test each: an entry of this repository and its arguments. */
  readonly programs: readonly string[];
}

const rows = rowsIn("tools/test/long-parts.md");

/** Parts in the order in which they run. */
export const longParts: readonly LongPart[] = rows.map(
  ([name = "", minutes, tests = "", files = "", programs = ""]) => ({
    name,
    minutes: Number(minutes),
    tests,
    files: codeWords(files),
    programs: codeWords(programs),
  }),
);

/** Returns the parts with these names, or all when there are none. Throws with the names that exist for one that does not. */
export function chooseParts(names: readonly string[]): readonly LongPart[] {
  const known = longParts.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new UsageError(`no part is called "${unknown.join('", "')}"; the parts are ${known.join(", ")}`);
  return longParts.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** Returns the files of a part. */
export function filesOf({ files }: LongPart, all: readonly string[]): readonly string[] {
  return all.filter((file) => files.some((start) => file.startsWith(start)));
}
