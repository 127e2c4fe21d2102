/** Judges mutants one after the other in a copy of the tree. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SourceFile } from "../checks/tree.ts";
import type { Mutant } from "./choose-mutants.ts";
import { groupsOf, type Importers, testsFor } from "./choose-tests.ts";
import type { TreeCopy } from "./copy.ts";
import type { Verdict } from "./report.ts";
import { runTests } from "./run-tests.ts";

/** A hang is never called one sooner, so that a busy machine does not catch mutants. */
const leastSilentMs = 60_000;
/** Limit for runs without a mutant, and for those on servers, whose hanging files `npm test` ends after ten minutes by itself. */
const verifySilentMs = 900_000;

/** Says where and how to judge mutants. */
export interface Court {
  readonly copy: TreeCopy;
  readonly sources: readonly SourceFile[];
  readonly importers: Importers;
  /** Tries survivors on real servers, too. */
  readonly real: boolean;
  readonly signal: AbortSignal;
}

/** Remembers how the copy does without a mutant: each file of tests runs so before its first use. */
interface Known {
  /** Files that pass, and files that fail. */
  readonly passes: Map<string, boolean>;
  /** The longest time in which the pure tests printed nothing. */
  longestSilenceMs: number;
}

/** Judges the mutants and calls `report` with each verdict as soon as it is known. Throws when a pure test fails without a mutant. */
export async function judge(
  court: Court,
  mutants: readonly Mutant[],
  report: (verdict: Verdict) => void,
): Promise<void> {
  const known: Known = { passes: new Map(), longestSilenceMs: 0 };
  for (const mutant of mutants) {
    const { text: _, ...about } = mutant;
    const started = performance.now();
    const pure = await caughtByPure(court, mutant, known);
    const real = pure === undefined && court.real ? await caughtByReal(court, mutant, known) : undefined;
    // An interrupted run has ended as if it had caught the mutant.
    if (court.signal.aborted) return;
    const outcome = pure !== undefined ? "pure" : real !== undefined ? "real" : "survived";
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    report({ ...about, outcome, caughtBy: pure ?? real ?? "", seconds });
  }
}

async function caughtByPure(court: Court, mutant: Mutant, known: Known): Promise<string | undefined> {
  const { copy, signal, importers } = court;
  for (const files of groupsOf(mutant.file, testsFor(mutant.file, importers).pure)) {
    const unknown = files.filter((file) => !known.passes.has(file));
    if (unknown.length > 0 && !signal.aborted) {
      const { caughtBy, silentMs } = await runTests(copy, unknown, { silentMs: verifySilentMs, signal });
      if (caughtBy !== undefined && !signal.aborted)
        throw new Error(`The copy without a mutant fails: ${caughtBy}. Make the tests pass first.`);
      for (const file of unknown) known.passes.set(file, true);
      known.longestSilenceMs = Math.max(known.longestSilenceMs, silentMs);
    }
    const caughtBy = await caughtIn(
      court,
      mutant,
      files,
      Math.max(leastSilentMs, 4 * known.longestSilenceMs),
    );
    if (caughtBy !== undefined) return caughtBy;
  }
  return undefined;
}

/** A file on servers that fails without the mutant, too, says nothing about it and is left out. */
async function caughtByReal(court: Court, mutant: Mutant, known: Known): Promise<string | undefined> {
  const { copy, signal } = court;
  for (const file of testsFor(mutant.file, court.importers).real) {
    if (!known.passes.has(file)) {
      const { caughtBy } = await runTests(copy, [file], { silentMs: verifySilentMs, signal });
      known.passes.set(file, caughtBy === undefined);
      if (caughtBy !== undefined) console.log(`${file} fails without a mutant and is left out: ${caughtBy}`);
    }
    if (signal.aborted) return undefined;
    if (known.passes.get(file) === false) continue;
    const caughtBy = await caughtIn(court, mutant, [file], verifySilentMs);
    if (caughtBy !== undefined) return caughtBy;
  }
  return undefined;
}

/** Runs the tests on the mutant and puts the source back. */
async function caughtIn(
  { copy, sources, signal }: Court,
  mutant: Mutant,
  files: readonly string[],
  silentMs: number,
): Promise<string | undefined> {
  const path = join(copy.folder, mutant.file);
  await writeFile(path, mutant.text);
  try {
    return (await runTests(copy, files, { silentMs, signal })).caughtBy;
  } finally {
    await writeFile(path, sources.find((source) => source.path === mutant.file)?.text ?? "");
  }
}
