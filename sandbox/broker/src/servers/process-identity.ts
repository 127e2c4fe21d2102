/**
 * Which process a server is, written down so that the next broker finds one that outlived the last. A process id alone may be anybody's
 * by then, so its start time stands beside it, and the boot in which both counted.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeOwn } from "@klutch/data-servers";
import { identify, type ProcessIdentity } from "@klutch/engines";

const fileName = "process.json";
/** An old server ends by itself when it has lost its broker. */
const patienceMs = 8_000;
const pollMs = 50;

export async function remember(home: string, identity: ProcessIdentity): Promise<void> {
  await writeOwn(join(home, fileName), JSON.stringify(identity));
}

/** Waits until the server that is written down has ended, and ends it when it does not. */
export async function endLeftover(home: string): Promise<"none" | "ended" | "killed"> {
  const found = await remembered(home);
  if (found === undefined || !(await runs(found))) return "none";
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    await sleep(pollMs);
    if (!(await runs(found))) return "ended";
  }
  // Its whole group: it is one of our servers, each of which has a group of its own.
  process.kill(-found.pid, "SIGKILL");
  while (await runs(found)) await sleep(pollMs);
  return "killed";
}

export async function forget(home: string): Promise<void> {
  await rm(join(home, fileName), { force: true });
}

async function runs(identity: ProcessIdentity): Promise<boolean> {
  const now = await identify(identity.pid);
  return now?.startedAt === identity.startedAt && now.boot === identity.boot;
}

async function remembered(home: string): Promise<ProcessIdentity | undefined> {
  const text = await readFile(join(home, fileName), "utf8").catch(() => "null");
  const value: unknown = JSON.parse(text);
  const fields = new Map<string, unknown>(Object.entries(value ?? {}));
  const [pid, startedAt, boot] = ["pid", "startedAt", "boot"].map((name) => fields.get(name));
  const isWhole = Number.isSafeInteger(pid) && Number(pid) > 1 && typeof startedAt === "string";
  return isWhole && typeof boot === "string" ? { pid: Number(pid), startedAt, boot } : undefined;
}
