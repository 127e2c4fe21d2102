/**
 * Finds a server that outlived its broker. A process id alone may belong to another process by then, so the start time of the process and
 * the boot are written down with it.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { readIfThere, writeOwn } from "@klutch/data-servers";
import { identify } from "@klutch/engines";

const fileName = "process.json";
/** A server without its broker ends by itself. */
const patienceMs = 8_000;
const pollMs = 50;

/** Writes down that the process is the server of this folder. */
export async function remember(home: string, pid: number): Promise<void> {
  await writeOwn(join(home, fileName), JSON.stringify((await identify(pid)) ?? {}));
}

/** Waits until the server that is written down has ended, and kills it with its group when it does not end. */
export async function endLeftover(home: string): Promise<"none" | "ended" | "killed"> {
  const written: unknown = JSON.parse((await readIfThere(join(home, fileName))) ?? "null");
  const pid = typeof written === "object" && written !== null && "pid" in written ? Number(written.pid) : 0;
  if (!Number.isSafeInteger(pid) || pid < 2) return "none";
  const runs = async (): Promise<boolean> => isDeepStrictEqual(await identify(pid), written);
  if (!(await runs())) return "none";
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += pollMs) {
    await sleep(pollMs);
    if (!(await runs())) return "ended";
  }
  process.kill(-pid, "SIGKILL");
  while (await runs()) await sleep(pollMs);
  return "killed";
}
