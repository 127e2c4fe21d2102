/** Runs test files by `node --test` with this repository's reporter. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { watchedEnvironment } from "./environment.ts";
import { parseTestRecord, type TestRecord } from "./record.ts";
import { batchVariable, type WatchLimits } from "./watch-state.ts";
import { watchFiles } from "./watch.ts";

/** What one stage did. */
export interface StageResult {
  readonly name: string;
  readonly records: readonly TestRecord[];
  /** Of the runner; not 0 also when a file could not be loaded at all. */
  readonly exitCode: number;
  readonly seconds: number;
}

/** A single test that hangs fails after this time; generous, because cold caches of a loaded machine are slow. */
const testTimeoutMs = 240_000;

/** Longer than the longest test gives itself, so that a test that hangs is named by itself first. */
const usualLimits: WatchLimits = { silentMs: 600_000, endingMs: 180_000, pollMs: 2_000 };

/** Options of `runStage`. */
export interface StageOptions {
  /** How many processes run tests at the same time. */
  readonly concurrency: number;
  /**
   * Runs files in this process-sharing way: each inner list in one process, one file after the other. Loading the same modules for each of
   * hundreds of small files takes longer than the tests. Default: each file in a process of its own.
   */
  readonly batches?: readonly (readonly string[])[] | undefined;
  readonly limits?: WatchLimits | undefined;
  /** Lets processes of other stages go first when there are too few cores. Default: false. */
  readonly isPatient?: boolean | undefined;
  /** Added to the environment of the test files. Default: nothing. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Runs `files`, prints progress, and returns a record for each test. */
export async function runStage(
  name: string,
  files: readonly string[],
  options: StageOptions,
): Promise<StageResult> {
  console.log(`\n== ${name}: ${files.length} files`);
  const started = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "klutch-test-"));
  const states = join(folder, "states");
  await mkdir(states);
  const stop = new AbortController();
  const say = (line: string): void => console.log(`\n${line}\n`);
  const watching = watchFiles(states, {
    limits: options.limits ?? usualLimits,
    signal: stop.signal,
    say,
  });
  try {
    const env = { ...watchedEnvironment(states), ...options.env };
    const { batches, concurrency, isPatient = false } = options;
    const runs =
      batches === undefined
        ? [
            await runFiles({
              folder,
              index: 0,
              files,
              flags: [`--test-concurrency=${concurrency}`],
              env,
              isPatient,
            }),
          ]
        : await inTurns(batches, concurrency, (batch, index) =>
            runFiles({
              folder,
              index,
              files: batch,
              flags: ["--test-isolation=none"],
              env: { ...env, [batchVariable]: "1" },
              isPatient,
            }),
          );
    return {
      name,
      exitCode: runs.find(({ exitCode }) => exitCode !== 0)?.exitCode ?? 0,
      records: runs.flatMap(({ records }) => records),
      seconds: (performance.now() - started) / 1000,
    };
  } finally {
    stop.abort();
    await watching;
    await rm(folder, { recursive: true, force: true });
  }
}

interface Runner {
  readonly folder: string;
  readonly index: number;
  readonly files: readonly string[];
  readonly flags: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly isPatient: boolean;
}

/** Runs one runner for the files. */
async function runFiles(runner: Runner): Promise<Pick<StageResult, "exitCode" | "records">> {
  const { folder, index, files, flags, env, isPatient } = runner;
  const recordFile = join(folder, `records-${index}.jsonl`);
  const args = [
    `--import=${join(import.meta.dirname, "watched.ts")}`,
    "--test",
    ...flags,
    `--test-timeout=${testTimeoutMs}`,
    `--test-reporter=${join(import.meta.dirname, "reporter.ts")}`,
    "--test-reporter-destination=stdout",
    `--test-reporter=${join(import.meta.dirname, "recorder.ts")}`,
    `--test-reporter-destination=${recordFile}`,
    ...files,
  ];
  const node = [process.execPath, ...args];
  // Threads inherit the priority that their process starts with (sched(7)), so it is set before Node starts.
  const exitCode = await runCommand(isPatient ? ["nice", "-n", "5", ...node] : node, env);
  const lines = (await readFile(recordFile, "utf8")).split("\n").filter((line) => line !== "");
  return { exitCode, records: lines.map(parseTestRecord) };
}

/** Calls `work` for each item, `width` at a time, and returns the results in the items' order. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

function runCommand([command = "", ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(command, args, { cwd: repositoryRoot, stdio: "inherit", env });
  child.on("error", reject);
  child.on("exit", (code) => resolve(code ?? 1));
  return promise;
}
