/** One `node --test` run with this repository's reporter. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { parseTestRecord, type TestRecord } from "./record.ts";

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

/** Runs `files`, prints progress, and gives back a record for each test. */
export async function runStage(
  name: string,
  files: readonly string[],
  options: { readonly concurrency: number },
): Promise<StageResult> {
  console.log(`\n== ${name}: ${files.length} files`);
  const started = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "klutch-test-"));
  try {
    const recordFile = join(folder, "records.jsonl");
    const reporter = join(import.meta.dirname, "reporter.ts");
    const recorder = join(import.meta.dirname, "recorder.ts");
    const exitCode = await runNode([
      "--test",
      `--test-concurrency=${options.concurrency}`,
      `--test-timeout=${testTimeoutMs}`,
      `--test-reporter=${reporter}`,
      "--test-reporter-destination=stdout",
      `--test-reporter=${recorder}`,
      `--test-reporter-destination=${recordFile}`,
      ...files,
    ]);
    const lines = (await readFile(recordFile, "utf8")).split("\n").filter((line) => line !== "");
    return {
      name,
      exitCode,
      records: lines.map(parseTestRecord),
      seconds: (performance.now() - started) / 1000,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function runNode(args: readonly string[]): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(process.execPath, args, { cwd: repositoryRoot, stdio: "inherit" });
  child.on("error", reject);
  child.on("exit", (code) => resolve(code ?? 1));
  return promise;
}
