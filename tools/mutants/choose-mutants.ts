/** Chooses mutants from the sources of the parts that ship, by a seed. */
import { hash } from "node:crypto";
import { basename } from "node:path";
import { isHandWritten, isTestSupport, partOf, type SourceFile } from "../checks/tree.ts";
import { mutate, mutationsOf } from "./mutators.ts";

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
    return firstMutants(places, share);
  });
}

/** Returns the mutant with the id. Throws when the tree has no such place. */
export function mutantById(sources: readonly SourceFile[], id: string): Mutant {
  const source = sources.find(({ path }) => id.startsWith(`${path}:`));
  const mutant =
    source &&
    rankedPlaces(source, 0)
      .find((place) => place.id === id)
      ?.make();
  if (mutant === undefined) throw new Error(`No place of this tree has the id ${id}; --list prints ids.`);
  return mutant;
}

/** A place of a source that can be changed; `line` is the path and the number of the line where the change begins. */
interface Place extends Readonly<Record<"id" | "line" | "rank", string>> {
  /** Returns undefined when the changed text is no longer TypeScript. */
  readonly make: () => Mutant | undefined;
}

function rankedPlaces({ path: file, text: source }: SourceFile, seed: number): readonly Place[] {
  const seen = new Map<string, number>();
  return mutationsOf(source).map((mutation) => {
    const { mutator, start } = mutation;
    const { number, column, text: before } = lineAt(source, start);
    const line = `${file}:${number}`;
    const id = `${line}:${column}:${mutator}`;
    const key = [seed, file, mutator, before].join("\n");
    const occurrence = seen.get(key) ?? 0;
    seen.set(key, occurrence + 1);
    const rank = hash("sha256", `${key}\n${occurrence}`);
    const make = (): Mutant | undefined => {
      const text = mutate(source, mutation);
      if (text === undefined) return undefined;
      return { id, part: partOf(file), file, mutator, before, after: lineAt(text, start).text, text };
    };
    return { id, line, rank, make };
  });
}

function firstMutants(places: readonly Place[], count: number): readonly Mutant[] {
  const chosen = new Map<string, Mutant>();
  for (const { line, make } of places) {
    if (chosen.size === count) break;
    const mutant = chosen.has(line) ? undefined : make();
    if (mutant !== undefined) chosen.set(line, mutant);
  }
  return [...chosen.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

type Line = Readonly<Record<"number" | "column", number>> & { readonly text: string };

/** Returns the line at a place of the text, without indentation, and the place's number and column. */
function lineAt(text: string, offset: number): Line {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const line = text.slice(start).split("\n", 1).join();
  return { number: text.slice(0, start).split("\n").length, column: offset - start + 1, text: line.trim() };
}
