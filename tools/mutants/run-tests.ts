/** Runs tests in a copy of the tree until the first of them fails. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { TreeCopy } from "./copy.ts";

/** Tells how a run of tests ended. */
export interface Run {
  /** The test that failed, `timeout`, or how the process ended; undefined when every test passed. */
  readonly caughtBy: string | undefined;
  /** The longest time in which no test ended. */
  readonly silentMs: number;
}

/** Limits of a run. */
export interface RunOptions {
  /** A run in which no line is printed for this time has hung. */
  readonly silentMs: number;
  /** Ends the run and its processes; what it then returns means nothing. */
  readonly signal: AbortSignal;
}

/** Runs files of tests as `npm test` does, which has a watchdog of its own for each file on servers. */
export async function runTests(
  { folder: cwd, temporary }: TreeCopy,
  files: readonly string[],
  { silentMs, signal }: RunOptions,
): Promise<Run> {
  // A runner that knows that it runs in a test of another one reports to that one.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const env = { ...inherited, TMPDIR: temporary };
  // It leads a group of its own, so that the processes of its tests end with it; servers end when their parent does.
  const child = spawn(process.execPath, ["tools/test/main.ts", ...files], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const { promise: ended, resolve } = Promise.withResolvers<string | undefined>();
  const stop = (why: string): void => {
    resolve(why);
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  };
  let [lastMs, longestMs] = [performance.now(), 0];
  const timer = setInterval(() => {
    if (performance.now() - lastMs > silentMs) stop("timeout");
  }, 500);
  const onAbort = (): void => stop("interrupted");
  signal.addEventListener("abort", onAbort);
  const lines = createInterface(child.stdout).on("line", (line) => {
    longestMs = Math.max(longestMs, performance.now() - lastMs);
    lastMs = performance.now();
    const failure = /^(?:FAILED|ENDED) (.+: .+)$/.exec(line)?.[1];
    if (failure !== undefined) stop(failure);
  });
  child.on("error", (error) => resolve(error.message));
  child.on("close", (code) => resolve(code === 0 ? undefined : `the tests' process ended with ${code}`));
  if (signal.aborted) onAbort();
  try {
    return { caughtBy: await ended, silentMs: longestMs };
  } finally {
    clearInterval(timer);
    lines.close();
    signal.removeEventListener("abort", onAbort);
  }
}
