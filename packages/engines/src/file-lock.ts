/** A lock between processes: a file that holds the owner's process id, made with O_EXCL. */
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** How often a waiting process looks again. */
const pollMs = 200;
/** Far longer than writing a process id takes. */
const abandonedAfterMs = 5_000;

/**
 * Waits until `path` is ours and returns the release. A lock whose owner no longer runs is taken over. `onWait` is called once
 * when somebody else holds it.
 */
export async function acquireFileLock(
  path: string,
  options: {
    readonly onWait?: ((ownerPid: number) => void) | undefined;
    readonly signal?: AbortSignal | undefined;
  } = {},
): Promise<AsyncDisposable> {
  await mkdir(dirname(path), { recursive: true });
  let waiting = false;
  while (!(await tryCreate(path))) {
    const owner = await ownerOf(path);
    if (owner === undefined ? await isAbandoned(path) : !isRunning(owner)) {
      await rm(path, { force: true });
      continue;
    }
    if (!waiting && owner !== undefined) options.onWait?.(owner);
    waiting = true;
    await sleep(pollMs, undefined, options.signal === undefined ? {} : { signal: options.signal });
  }
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

/** A file that names nobody is a lock whose owner died before it wrote its name, or is no lock of ours at all. */
async function isAbandoned(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && systemNow() - found.mtimeMs > abandonedAfterMs;
}

/** File times are wall-clock times. */
const systemNow = (): number => performance.timeOrigin + performance.now();

/** Creates the lock file for this process; false when it exists. */
export async function tryCreate(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** The process id in the lock file; undefined when it is gone or not yet written. */
export async function ownerOf(path: string): Promise<number | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  const pid = Number(text);
  return text !== "" && Number.isInteger(pid) ? pid : undefined;
}

/** Whether a process with this id exists. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
