/** Runs test files by Node's test runner, prints what happens, and records each test. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";
import { repositoryRoot } from "../root.ts";
import type { Batch } from "./files.ts";
import { startedByVariable } from "./processes.ts";
import { endWhenOverdue, type Progress, type WatchLimits } from "./watch.ts";

/** One finished test. A file that fails outside of its tests, or cannot be loaded, counts as one failed test. */
export interface TestRecord {
  readonly name: string;
  /** Relative to the repository root. */
  readonly file: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly milliseconds: number;
}

/** Tells what one stage did. */
export interface StageResult {
  readonly name: string;
  readonly records: readonly TestRecord[];
  readonly seconds: number;
}

/** Options of `runStage`. */
export interface StageOptions {
  readonly limits?: WatchLimits | undefined;
  /** Lets processes of other stages go first when there are too few cores. Default: false. */
  readonly isPatient?: boolean | undefined;
  /** Help when other stages have left the cores to them. Default: none. */
  readonly late?: LateLanes<Batch> | undefined;
  /** Added to the environment of the test files. Default: nothing. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A single test that hangs, and has no limit of its own, fails after this time; generous, because a loaded machine is slow. */
const testTimeoutMs = 600_000;

/** Longer than the longest test gives itself, so that a test that hangs is named by itself first. */
const usualLimits: WatchLimits = { silentMs: 900_000, endingMs: 180_000, pollMs: 2_000 };

/** Runs the batches in lanes, as `inLanes` does, and returns a record for each test. */
export async function runStage(
  name: string,
  lanes: readonly Lane<Batch>[],
  options: StageOptions = {},
): Promise<StageResult> {
  console.log(`\n== ${name}: ${new Set(lanes.flat(3)).size} files`);
  const started = performance.now();
  // Node's runner of each batch listens to this process.
  process.setMaxListeners(0);
  const reports = await mkdtemp(join(tmpdir(), "klutch-test-"));
  try {
    const records = await inLanes(lanes, (batch) => runBatch(batch, reports, options), options.late);
    return { name, records: records.flat(), seconds: (performance.now() - started) / 1000 };
  } finally {
    await rm(reports, { recursive: true, force: true });
  }
}

async function runBatch(
  batch: Batch,
  reports: string,
  { env, isPatient, limits = usualLimits }: StageOptions,
): Promise<readonly TestRecord[]> {
  const paths = batch.map((file) => resolve(repositoryRoot, file));
  const [first = ""] = paths;
  const isAlone = paths.length === 1;
  const mark = `${process.pid} ${first}`;
  const progress: Progress = { file: first, atMs: performance.now(), open: 0, ended: 0 };
  const stop = new AbortController();
  const watching = endWhenOverdue(progress, { mark, reports, limits, signal: stop.signal });
  const records: TestRecord[] = [];
  try {
    const events = run({
      cwd: repositoryRoot,
      files: isAlone ? paths : [join(import.meta.dirname, "several.ts")],
      argv: isAlone ? [] : paths,
      execArgv: [
        `--import=${join(import.meta.dirname, "untracked.ts")}`,
        ...(isPatient === true ? [`--import=${join(import.meta.dirname, "patient.ts")}`] : []),
        "--report-on-signal",
        `--report-directory=${reports}`,
        "--report-exclude-network",
      ],
      env: { ...process.env, ...env, [startedByVariable]: mark },
      timeout: testTimeoutMs,
    });
    for await (const event of events as AsyncIterable<TestEvent>) follow(event, { paths, progress, records });
  } finally {
    stop.abort();
    await watching;
  }
  return records;
}

interface BatchState {
  /** Absolute paths of its files. */
  readonly paths: readonly string[];
  readonly progress: Progress;
  readonly records: TestRecord[];
}

/** Prints what the event says, and remembers it. */
function follow(event: TestEvent, { paths, progress, records }: BatchState): void {
  const isAlone = paths.length === 1;
  if (event.type === "test:stderr" || event.type === "test:stdout") {
    process.stdout.write(event.data.message);
  } else if (event.type === "test:diagnostic" && event.data.file !== undefined) {
    // Concerns a file, not the run: such as a figure that a test reports.
    console.log(`${relative(repositoryRoot, event.data.file)}: ${event.data.message}`);
  } else if (event.type === "test:enqueue" || event.type === "test:complete") {
    const isStart = event.type === "test:enqueue";
    const { name, entryFile, file = progress.file } = event.data;
    // A file that cannot be loaded is a test with its name.
    const isBroken = paths.includes(name);
    // The runner has a test of its own around the process.
    const isProcess = entryFile === undefined;
    if (!isProcess) {
      if (!isAlone) progress.file = isBroken ? name : file;
      progress.open += isStart ? 1 : -1;
      progress.ended += isStart ? 0 : 1;
    }
    progress.atMs = performance.now();
    if (isStart) return;
    const isFile = isProcess || isBroken;
    const isKnown = isProcess && records.some(({ outcome }) => outcome === "failed");
    const kind = isProcess && !isAlone ? "process" : isFile ? "file" : "test";
    const record = isKnown ? undefined : recordOf(event.data, progress.file, kind);
    if (record !== undefined) records.push(record);
    if (isProcess) printFiles(records, isAlone ? event.data.details.duration_ms : undefined);
  }
}

type Completed = Extract<TestEvent, { readonly type: "test:complete" }>["data"];

/** Returns nothing for a suite, and for a whole file or process that did not fail. Prints a failure. `process`: of several files. */
function recordOf(
  { name, details, skip }: Completed,
  file: string,
  kind: "test" | "file" | "process",
): TestRecord | undefined {
  const { passed, duration_ms: milliseconds, error, type } = details;
  const isFile = kind !== "test";
  if (type === "suite" || (isFile && passed)) return undefined;
  const path = relative(repositoryRoot, file);
  const names = { test: name, file: path, process: "this file or one that shares its process" };
  const record = { name: names[kind], file: path, milliseconds };
  if (passed) return { ...record, outcome: skip === undefined || skip === false ? "passed" : "skipped" };
  console.log(
    `\nFAILED ${path}: ${record.name}\n${inspect(isFile ? error : (error?.cause ?? error), { depth: 6 })}\n`,
  );
  return { ...record, outcome: "failed" };
}

/** Prints a line for each file. A file that shared its process has the time of its tests alone. */
function printFiles(records: readonly TestRecord[], processMs: number | undefined): void {
  for (const [file, tests] of Map.groupBy(records, (record) => record.file)) {
    const state = tests.some(({ outcome }) => outcome === "failed") ? "FAILED" : "ok    ";
    const milliseconds = processMs ?? tests.reduce((sum, test) => sum + test.milliseconds, 0);
    console.log(`${state} ${file} (${tests.length} tests, ${(milliseconds / 1000).toFixed(1)} s)`);
  }
}

/** The queues that a lane empties, one after the other. Lanes may share a queue: it is known by its identity. */
export type Lane<Item> = readonly (readonly Item[])[];

/** Returns lanes that share the queues, in this order; `width` is their number. */
export function lanesOf<Item>(width: number, ...queues: Lane<Item>): readonly Lane<Item>[] {
  return Array.from({ length: width }, () => queues);
}

/** Lanes that begin when `after` is fulfilled: others have left the cores to them. */
export interface LateLanes<Item> {
  readonly after: Promise<unknown>;
  readonly lanes: readonly Lane<Item>[];
}

/**
 * Calls `work` once for each item of each queue. A lane works on one item at a time; the results come in the order in which they end. `late` lanes
 * help with the same queues, and are not waited for when the queues are empty.
 */
export async function inLanes<Item, Result>(
  lanes: readonly Lane<Item>[],
  work: (item: Item) => Promise<Result>,
  late: LateLanes<Item> = { after: Promise.resolve(), lanes: [] },
): Promise<readonly Result[]> {
  const waiting = new Map([...lanes, ...late.lanes].flat().map((queue) => [queue, queue.values()]));
  const results: Result[] = [];
  const runLane = async (lane: Lane<Item>): Promise<void> => {
    for (const queue of lane) for (const item of waiting.get(queue) ?? []) results.push(await work(item));
  };
  const early = Promise.all(lanes.map(runLane));
  const begin = Promise.race([early, late.after]);
  await Promise.all([early, ...late.lanes.map((lane) => begin.then(() => runLane(lane)))]);
  return results;
}

/** Prints counts for each part and the closing line, and returns the exit code. */
export function printSummary(results: readonly StageResult[]): number {
  const records = results.flatMap((result) => result.records);
  const count = (outcome: string, among = records): number =>
    among.filter((record) => record.outcome === outcome).length;
  console.log("\nTests by part:");
  for (const [part, tests] of Map.groupBy(records, ({ file }) => file.split("/", 2).join("/"))) {
    const failed = count("failed", tests);
    const failures = failed === 0 ? "" : ` (${failed} failed)`;
    console.log(`  ${part.padEnd(28)} ${String(tests.length).padStart(4)}${failures}`);
  }
  for (const { name, seconds } of results) console.log(`  ${name}: ${seconds.toFixed(0)} s`);
  const [passed, failed, skipped] = [count("passed"), count("failed"), count("skipped")];
  console.log(`${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`);
  return failed === 0 && passed > 0 ? 0 : 1;
}
