/** Judges mutants one after the other in a copy of the tree. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SourceFile } from "../checks/tree.ts";
import type { Mutant } from "./choose-mutants.ts";
import { groupsOf, type Importers, importersOf, testsFor } from "./choose-tests.ts";
import type { TreeCopy } from "./copy.ts";
import type { Verdict } from "./report.ts";
import { type Run, runTests } from "./run-tests.ts";

/** A hang is never called one sooner, so that a busy machine does not catch mutants. */
const leastSilentMs = 60_000;
/** Limit for runs without a mutant, and for those on servers, whose hanging files `npm test` ends after ten minutes by itself. */
const verifySilentMs = 900_000;

/** Judges by the tests of one copy, and remembers how the copy does without a mutant: each file of tests runs so before its first use. */
export class Judge {
  readonly #copy: TreeCopy;
  readonly #sources: readonly SourceFile[];
  readonly #importers: Importers;
  readonly #real: boolean;
  readonly #signal: AbortSignal;
  /** Files that pass without a mutant, and files that fail. */
  readonly #passes = new Map<string, boolean>();
  /** The longest time in which the pure tests printed nothing. */
  #longestSilenceMs = 0;

  /** `real` tries survivors on real servers, too. After an abort nothing is judged any more. */
  constructor(copy: TreeCopy, sources: readonly SourceFile[], real: boolean, signal: AbortSignal) {
    this.#copy = copy;
    this.#sources = sources;
    this.#importers = importersOf(sources);
    this.#real = real;
    this.#signal = signal;
  }

  /**
   * Tries groups of pure tests, then single files on servers, until one catches the mutant. Returns undefined when it was interrupted. Throws
   * when a pure test fails without a mutant.
   */
  async judge({ text, ...about }: Mutant): Promise<Verdict | undefined> {
    const started = performance.now();
    const { pure, real } = testsFor(about.file, this.#importers);
    const runs = [
      ...groupsOf(about.file, pure).map((files) => ["pure", files] as const),
      ...(this.#real ? real : []).map((file) => ["real", [file]] as const),
    ];
    let caught: Pick<Verdict, "outcome" | "caughtBy"> = { outcome: "survived", caughtBy: "" };
    for (const [kind, files] of runs) {
      if (!(await this.#passWithoutMutant(kind, files))) continue;
      const patienceMs = Math.max(leastSilentMs, 4 * this.#longestSilenceMs);
      const path = join(this.#copy.folder, about.file);
      await writeFile(path, text);
      const { caughtBy } = await this.#run(files, kind === "pure" ? patienceMs : verifySilentMs);
      await writeFile(path, this.#sources.find((source) => source.path === about.file)?.text ?? "");
      if (caughtBy === undefined) continue;
      caught = { outcome: kind, caughtBy };
      break;
    }
    // An interrupted run has ended as if it had caught the mutant.
    if (this.#signal.aborted) return undefined;
    return { ...about, ...caught, seconds: Math.round((performance.now() - started) / 100) / 10 };
  }

  /** A file on servers that fails without the mutant, too, says nothing about it and is left out. */
  async #passWithoutMutant(kind: "pure" | "real", files: readonly string[]): Promise<boolean> {
    const unknown = files.filter((file) => !this.#passes.has(file));
    if (unknown.length > 0 && !this.#signal.aborted) {
      const { caughtBy, silentMs } = await this.#run(unknown, verifySilentMs);
      if (this.#signal.aborted) return false;
      if (caughtBy !== undefined && kind === "pure")
        throw new Error(`The copy without a mutant fails: ${caughtBy}. Make the tests pass first.`);
      if (caughtBy !== undefined)
        console.log(`${files.join()} fails without a mutant and is left out: ${caughtBy}`);
      for (const file of unknown) this.#passes.set(file, caughtBy === undefined);
      if (kind === "pure") this.#longestSilenceMs = Math.max(this.#longestSilenceMs, silentMs);
    }
    return !this.#signal.aborted && files.every((file) => this.#passes.get(file) === true);
  }

  #run(files: readonly string[], silentMs: number): Promise<Run> {
    return runTests(this.#copy, files, { silentMs, signal: this.#signal });
  }
}
