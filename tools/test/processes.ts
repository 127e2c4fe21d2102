/** Finds and ends the processes that a test file started. */
import { readdir, readFile } from "node:fs/promises";

/** The environment variable that a test file's process and all that it starts have; its value identifies the file's process. */
export const startedByVariable = "KLUTCH_TEST_STARTED_BY";

/** A process that runs. */
export interface StartedProcess {
  readonly id: number;
  /** Its name. */
  readonly command: string;
  readonly parent: number;
  /** Environment at its start: `NAME=value`. */
  readonly environment: readonly string[];
}

/** Returns the processes with the mark and their descendants, which may have another environment. Only Linux tells; elsewhere there are none. */
export async function processesOf(mark: string): Promise<readonly StartedProcess[]> {
  const ids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const seen = (await Promise.all(ids.map(look))).filter((each) => each !== undefined);
  const byId = new Map(seen.map((each) => [each.id, each]));
  const isOf = (each: StartedProcess | undefined): boolean =>
    each !== undefined &&
    (each.environment.includes(`${startedByVariable}=${mark}`) || isOf(byId.get(each.parent)));
  return seen.filter(isOf);
}

/** Sends SIGKILL to all. */
export function endAll(processes: readonly Pick<StartedProcess, "id">[]): void {
  for (const { id } of processes) {
    try {
      process.kill(id, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Returns undefined for one that has ended, also when its parent has not taken up its end yet. */
async function look(id: string): Promise<StartedProcess | undefined> {
  const stat = await readFile(`/proc/${id}/stat`, "utf8").catch(() => "");
  // The name may contain anything (proc_pid_stat(5)).
  const [, command, state, parent] = /^\d+ \((.*)\) (\S) (\d+) /s.exec(stat) ?? [];
  if (command === undefined || state === "Z") return undefined;
  const environment = await readFile(`/proc/${id}/environ`, "utf8").catch(() => "");
  return { id: Number(id), command, parent: Number(parent), environment: environment.split("\0") };
}
