/** Chooses mutants from the sources of the parts that ship, by a seed. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { isHandWritten, isTestSupport, partOf, type SourceFile } from "../checks/tree.ts";
import { mutate, type Mutation, mutationsOf } from "./mutators.ts";

/** Parts that are mutated when no other is asked for. */
export const defaultParts: readonly string[] = [
  "packages/sync",
  "packages/kube-runtime",
  "packages/schema",
  "apps/konnector",
  "apps/provider-anynines",
  "apps/backend",
];

/** A changed source file. */
export interface Mutant {
  /** `file:line:column:mutator`. */
  readonly id: string;
  readonly part: string;
  readonly file: string;
  readonly mutator: string;
  /** The line where the change begins, before and after it, without indentation. */
  readonly before: string;
  readonly after: string;
  /** The whole changed text. */
  readonly text: string;
}

/** Returns whether the file is source of one of the parts: no test, nothing generated, no entry and no table of flags. */
export function isMutable(path: string, part: string): boolean {
  if (!path.startsWith(`${part}/src/`) || !isHandWritten(path) || isTestSupport(path)) return false;
  return !/^(?:main|index|config)\b/.test(basename(path));
}

/** Selects mutants. */
export interface Choice {
  readonly seed: number;
  /** Counts the mutants of all parts together; each part gets the same share, rounded up. */
  readonly count: number;
  readonly parts: readonly string[];
}

/**
 * Returns the same mutants for the same seed and sources, at most one for each line. A place's rank follows from the seed and its own line
 * alone, so that two trees share the mutants of the lines that they share.
 */
export function chooseMutants(sources: readonly SourceFile[], choice: Choice): readonly Mutant[] {
  const share = Math.ceil(choice.count / choice.parts.length);
  return choice.parts.flatMap((part) => {
    const places = sources
      .filter(({ path }) => isMutable(path, part))
      .flatMap((source) => rankedPlaces(source, choice.seed))
      .toSorted((left, right) => (left.rank < right.rank ? -1 : 1));
    return firstMutants(places, part, share);
  });
}

/** Returns the mutant with the id. Throws when the tree has no such place. */
export function mutantById(sources: readonly SourceFile[], id: string): Mutant {
  const source = sources.find(({ path }) => id.startsWith(`${path}:`));
  const place = source && rankedPlaces(source, 0).find((each) => each.id === id);
  const mutant = place && mutantOf(place, partOf(place.source.path));
  if (mutant === undefined) throw new Error(`No place of this tree has the id ${id}; --list prints ids.`);
  return mutant;
}

interface Place {
  readonly id: string;
  readonly source: SourceFile;
  readonly mutation: Mutation;
  /** Path and number of the line where the change begins, and the line itself. */
  readonly line: string;
  readonly before: string;
  readonly rank: string;
}

function rankedPlaces(source: SourceFile, seed: number): readonly Place[] {
  const seen = new Map<string, number>();
  return mutationsOf(source.text).map((mutation) => {
    const { number, column, text: before } = lineAt(source.text, mutation.start);
    const line = `${source.path}:${number}`;
    const key = [seed, source.path, mutation.mutator, before].join("\n");
    const occurrence = seen.get(key) ?? 0;
    seen.set(key, occurrence + 1);
    const rank = createHash("sha256").update(`${key}\n${occurrence}`).digest("hex");
    return { id: `${line}:${column}:${mutation.mutator}`, source, mutation, line, before, rank };
  });
}

function firstMutants(places: readonly Place[], part: string, count: number): readonly Mutant[] {
  const chosen = new Map<string, Mutant>();
  for (const place of places) {
    if (chosen.size === count) break;
    const mutant = chosen.has(place.line) ? undefined : mutantOf(place, part);
    if (mutant !== undefined) chosen.set(place.line, mutant);
  }
  return [...chosen.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

function mutantOf({ id, source, mutation, before }: Place, part: string): Mutant | undefined {
  const text = mutate(source.text, mutation);
  if (text === undefined) return undefined;
  const after = lineAt(text, mutation.start).text;
  return { id, part, file: source.path, mutator: mutation.mutator, before, after, text };
}

type Line = Readonly<Record<"number" | "column", number>> & { readonly text: string };

/** Returns the line at a place of the text, without indentation, and the place's number and column. */
function lineAt(text: string, offset: number): Line {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const line = text.slice(start).split("\n", 1).join();
  return { number: text.slice(0, start).split("\n").length, column: offset - start + 1, text: line.trim() };
}
