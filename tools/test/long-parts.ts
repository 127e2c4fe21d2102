/** The parts of `npm run test:long`, which long-parts.md lists. */
import { kubernetesVersions } from "@klutch/engines";
import { kubernetesVariable, UsageError } from "@klutch/kube-testing";
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
  /** Programs that count as one test each: variables of the environment, an entry of this repository, and its arguments. */
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

/** A program of a part. */
export interface LongProgram {
  readonly variables: Readonly<Record<string, string>>;
  readonly entry: string;
  readonly args: readonly string[];
  /** Runs test files, as many at once as the machine takes. */
  readonly isTests: boolean;
}

/** Reads a program of the table. */
export function programOf(text: string): LongProgram {
  const words = text.split(" ");
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const variables: Record<string, string> = {};
  for (const word of words.slice(0, first)) {
    const [name = "", value = ""] = word.split("=", 2);
    variables[name] = value;
  }
  const entry = words[first] ?? "";
  return { variables, entry, args: words.slice(first + 1), isTests: entry === "tools/test/main.ts" };
}

/** Returns the versions of Kubernetes with which tests go the whole way: those of all clusters, and pairs of a control plane's and app clusters'. */
export function triedKubernetes(): readonly (readonly string[])[] {
  const programs = longParts.flatMap((part) => part.programs.map(programOf));
  const values = programs.map(({ variables }) => variables[kubernetesVariable] ?? "");
  const [pinned] = kubernetesVersions;
  return [[pinned], ...values.filter((value) => value !== "").map((value) => value.split(","))];
}

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
