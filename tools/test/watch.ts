/** Ends test files that will not end by themselves, with everything that they started. */
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { setInterval } from "node:timers/promises";
import { repositoryRoot } from "../root.ts";
import { endAll, processesOf } from "./processes.ts";
import { overdue, parseWatchState, type WatchLimits } from "./watch-state.ts";

/** Watches the processes that write to `folder` until `signal` is aborted; `say` gets a line for each that is ended. */
export async function watchFiles(
  folder: string,
  options: {
    readonly limits: WatchLimits;
    readonly signal: AbortSignal;
    readonly say: (line: string) => void;
  },
): Promise<void> {
  const { limits, signal, say } = options;
  const done = new Set<string>();
  try {
    for await (const _ of setInterval(limits.pollMs, undefined, { signal })) {
      for (const name of await readdir(folder)) {
        if (done.has(name)) continue;
        const line = await judge(join(folder, name), limits);
        if (line === undefined) continue;
        done.add(name);
        if (line !== "") say(line);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** What was done about one process: undefined while it may go on, empty when there was nothing left to end. */
async function judge(stateFile: string, limits: WatchLimits): Promise<string | undefined> {
  const state = parseWatchState(await readFile(stateFile, "utf8"));
  const nowMs = performance.timeOrigin + performance.now();
  const why = state === undefined ? undefined : overdue(state, nowMs, limits);
  if (state === undefined || why === undefined) return undefined;
  const processes = await processesOf(stateFile);
  if (processes.length === 0) return "";
  endAll(processes);
  const names = processes.map(({ id, command }) => `${id} ${command}`).join(", ");
  return `ENDED ${relative(repositoryRoot, state.file)}: ${why}. Its processes were ended: ${names}`;
}
