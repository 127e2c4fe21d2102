/** One `node --test` run with this repository's reporter. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { watchedEnvironment } from "./environment.ts";
import { parseTestRecord, type TestRecord } from "./record.ts";
import type { WatchLimits } from "./watch-state.ts";
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

/** Runs `files`, prints progress, and gives back a record for each test. */
export async function runStage(
  name: string,
  files: readonly string[],
  options: {
    readonly concurrency: number;
    readonly limits?: WatchLimits | undefined;
    /** Added to the environment of the test files. Default: nothing. */
    readonly env?: Readonly<Record<string, string>> | undefined;
  },
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
    const recordFile = join(folder, "records.jsonl");
    const reporter = join(import.meta.dirname, "reporter.ts");
    const recorder = join(import.meta.dirname, "recorder.ts");
    const args = [
      `--import=${join(import.meta.dirname, "watched.ts")}`,
      "--test",
      `--test-concurrency=${options.concurrency}`,
      `--test-timeout=${testTimeoutMs}`,
      `--test-reporter=${reporter}`,
      "--test-reporter-destination=stdout",
      `--test-reporter=${recorder}`,
      `--test-reporter-destination=${recordFile}`,
      ...files,
    ];
    const exitCode = await runNode(args, { ...watchedEnvironment(states), ...options.env });
    const lines = (await readFile(recordFile, "utf8")).split("\n").filter((line) => line !== "");
    return {
      name,
      exitCode,
      records: lines.map(parseTestRecord),
      seconds: (performance.now() - started) / 1000,
    };
  } finally {
    stop.abort();
    await watching;
    await rm(folder, { recursive: true, force: true });
  }
}

function runNode(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(process.execPath, args, { cwd: repositoryRoot, stdio: "inherit", env });
  child.on("error", reject);
  child.on("exit", (code) => resolve(code ?? 1));
  return promise;
}
