/** Ends test files that would never end by themselves, with everything that they started. */
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { setInterval, setTimeout } from "node:timers/promises";
import { parsedJson } from "@klutch/http-client";
import { recordsAt, textAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";
import { endAll, processesOf, type StartedProcess } from "./processes.ts";

/** Records how far the tests of one process are. */
export interface Progress {
  /** Absolute path of the file of the last test. */
  file: string;
  /** Time at which the process or one of its tests last started, or a test ended: a reading of `performance.now()`. */
  atMs: number;
  /** Tests that have started and not ended. */
  open: number;
  ended: number;
}

/** Limits how long a process may take. */
export interface WatchLimits {
  /** Milliseconds without a test that starts or ends. */
  readonly silentMs: number;
  /** Milliseconds after its last test, for stopping and removing things. */
  readonly endingMs: number;
  readonly pollMs: number;
}

/** Returns why the process has to be ended now; undefined while it may go on. */
export function overdue(
  { atMs, open, ended }: Progress,
  nowMs: number,
  { silentMs, endingMs }: WatchLimits,
): string | undefined {
  const passedMs = nowMs - atMs;
  const time = `${Math.round(passedMs / 1000)} s`;
  if (open > 0 || ended === 0)
    return passedMs > silentMs ? `no test of it has started or ended for ${time}` : undefined;
  return passedMs > endingMs ? `its tests ended ${time} ago` : undefined;
}

/** Watches until `signal` is aborted. `mark` identifies the processes, and Node writes its reports to the folder `reports`. */
export async function endWhenOverdue(
  progress: Progress,
  options: {
    readonly mark: string;
    readonly reports: string;
    readonly limits: WatchLimits;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { mark, reports, limits, signal } = options;
  try {
    for await (const _ of setInterval(limits.pollMs, undefined, { signal })) {
      const why = overdue(progress, performance.now(), limits);
      const processes = why === undefined ? [] : await processesOf(mark);
      if (processes.length === 0) continue;
      const kept =
        progress.open > 0 || progress.ended === 0 ? "" : `, and ${await keptBy(processes, reports)}`;
      endAll(processes);
      const names = processes.map(({ id, command }) => `${id} ${command}`).join(", ");
      const file = relative(repositoryRoot, progress.file);
      console.log(`\nENDED ${file}: ${why}${kept}. Its processes were ended: ${names}\n`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Asks the process for what keeps it running, by a diagnostic report of Node's. */
async function keptBy(processes: readonly StartedProcess[], reports: string): Promise<string> {
  const runner = processes.find(({ parent }) => parent === process.pid);
  if (runner === undefined) return "it left processes";
  process.kill(runner.id, "SIGUSR2");
  const deadlineMs = performance.now() + 5_000;
  while (performance.now() < deadlineMs) {
    const name = (await readdir(reports)).find((each) => each.includes(`.${runner.id}.`));
    const handles = name === undefined ? undefined : handlesIn(await readFile(join(reports, name), "utf8"));
    if (handles !== undefined) return `something keeps it running (${handles})`;
    await setTimeout(50);
  }
  return "it is busy";
}

/** Counts the handles of a report by type, as libuv calls them; undefined for half a report. */
function handlesIn(text: string): string | undefined {
  const report = parsedJson(text);
  if (report === undefined) return undefined;
  const kept = recordsAt(report, "libuv").filter(
    (each) => each["is_active"] === true && each["is_referenced"] === true,
  );
  const counts = [...Map.groupBy(kept, (handle) => textAt(handle, "type"))];
  return counts.map(([type, all]) => `${all.length} ${type}`).join(", ") || "what it removes at its end";
}
