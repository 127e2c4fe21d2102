/** The processes that a test file started. */
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { startedByVariable, watchFolderVariable } from "./watch-state.ts";

/** A process that runs. */
export interface StartedProcess {
  readonly id: number;
  /** Its name. */
  readonly command: string;
}

interface Seen extends StartedProcess {
  readonly parent: number;
  /** What it was started with: `NAME=value`. */
  readonly environment: readonly string[];
}

/**
 * The process that writes to `stateFile`, if it still runs, and all that it started: its descendants, and those that lost their parent but
 * inherited its mark. Only Linux says it; elsewhere it is the process alone.
 */
export async function processesOf(stateFile: string): Promise<readonly StartedProcess[]> {
  const id = Number(basename(stateFile));
  const names = await readdir("/proc").catch(() => undefined);
  if (names === undefined) return [{ id, command: "" }];
  const ids = names.filter((name) => /^\d+$/.test(name));
  const seen = (await Promise.all(ids.map(look))).flatMap((each) => each ?? []);
  const byId = new Map(seen.map((each) => [each.id, each]));
  const watched = `${watchFolderVariable}=${dirname(stateFile)}`;
  const mark = `${startedByVariable}=${stateFile}`;
  const isOf = (each: Seen | undefined): boolean => {
    if (each === undefined) return false;
    // Another process may have its number by now.
    if (each.id === id && each.environment.includes(watched)) return true;
    return each.environment.includes(mark) || isOf(byId.get(each.parent));
  };
  return seen.filter(isOf).map(({ id: found, command }) => ({ id: found, command }));
}

/** SIGKILL for all. */
export function endAll(processes: readonly StartedProcess[]): void {
  for (const { id } of processes) {
    try {
      process.kill(id, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Undefined for one that has ended, also when nobody has taken up its end yet. */
async function look(id: string): Promise<Seen | undefined> {
  const stat = await readFile(`/proc/${id}/stat`, "utf8").catch(() => "");
  // The name may contain anything (proc_pid_stat(5)).
  const [, command, state, parent] = /^\d+ \((.*)\) (\S) (\d+) /s.exec(stat) ?? [];
  if (command === undefined || state === "Z") return undefined;
  const environment = await readFile(`/proc/${id}/environ`, "utf8").catch(() => "");
  return { id: Number(id), command, parent: Number(parent), environment: environment.split("\0") };
}
