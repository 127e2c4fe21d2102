/** Remembers how long each process of tests took, so that the next run starts the longest first and none is left alone at the end. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { isRecord } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";

/** Files that one process runs, one after the other: loading the same modules for each of hundreds of small files takes longer than the tests. */
export type Batch = readonly string[];

const store = join(repositoryRoot, "node_modules", ".cache", "test-seconds.json");

/** Returns the seconds that the last run of each batch took, by its first file. */
export function lastSeconds(): ReadonlyMap<string, number> {
  try {
    const stored: unknown = JSON.parse(readFileSync(store, "utf8"));
    const entries = isRecord(stored) ? Object.entries(stored) : [];
    return new Map(entries.map(([file, seconds]) => [file, Number(seconds)]));
  } catch {
    // No run has ended yet.
    return new Map();
  }
}

/** Orders batches by the time they took. Those that are not known come first, in their own order. */
export function longestFirst(
  batches: readonly Batch[],
  known: ReadonlyMap<string, number>,
): readonly Batch[] {
  const seconds = ([first = ""]: Batch): number => known.get(first) ?? Number.MAX_VALUE;
  return batches.toSorted((left, right) => seconds(right) - seconds(left));
}

/** Keeps the seconds of the batches of a run; files of other places than the repository are left out. */
export function rememberSeconds(run: readonly (readonly [batch: Batch, seconds: number])[]): void {
  const own = run.filter(([[first = ""]]) => !isAbsolute(first));
  const entries = own.map(([[first = ""], seconds]) => [first, Math.round(seconds)] as const);
  if (entries.length === 0) return;
  mkdirSync(dirname(store), { recursive: true });
  writeFileSync(store, JSON.stringify(Object.fromEntries([...lastSeconds(), ...entries])));
}
