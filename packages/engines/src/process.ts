/**
 * Runs a server as a child process that cannot outlive this one: a small shell beside it watches a pipe and ends the server when
 * the pipe closes, which the kernel does even when this process is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inheritedEnvironment } from "./environment.ts";
import { EngineError } from "./errors.ts";

/** What to run. */
export interface ProcessOptions {
  /** For messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the inherited environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** Standard output and error are appended here. */
  readonly logFile: string;
  /** Resolves to true once the server serves; asked until then. Default: ready at once. */
  readonly ready?: (() => Promise<boolean>) | undefined;
  /** Default 60 000. */
  readonly readyTimeoutMs?: number | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /** How long the server may take to end by itself. Default 10 000. */
  readonly stopTimeoutMs?: number | undefined;
}

/** A server that runs. */
export interface RunningProcess extends AsyncDisposable {
  readonly name: string;
  /** Process group of the server. */
  readonly pid: number;
  readonly exited: Promise<number>;
  readonly hasExited: boolean;
  /** SIGTERM, then SIGKILL after `stopTimeoutMs`. */
  stop(): Promise<void>;
  /** SIGKILL at once, as a crash would. */
  kill(): Promise<void>;
}

const watchdog = `
"$@" </dev/null 3<&- &
child=$!
trap 'kill -TERM "$child" 2>/dev/null' TERM
{ cat <&3 >/dev/null; kill -TERM "$child" 2>/dev/null; sleep 5; kill -KILL "$child" 2>/dev/null; } >/dev/null 2>&1 &
watcher=$!
while :; do
  wait "$child"; code=$?
  kill -0 "$child" 2>/dev/null || break
done
kill -KILL "$watcher" 2>/dev/null
exit "$code"
`;
const readyPollMs = 40;

/** Starts the process and waits until it is ready. Throws `EngineError` with the end of its log when it is not. */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  await mkdir(dirname(options.logFile), { recursive: true });
  const child = spawnWatched(options);
  const running = follow(options, child);
  try {
    await waitUntilReady(options, running);
    return running;
  } catch (error) {
    await running.kill();
    throw error;
  }
}

function spawnWatched(options: ProcessOptions): ChildProcess {
  const log = openSync(options.logFile, "a");
  try {
    return spawn("/bin/sh", ["-c", watchdog, options.name, options.command, ...options.args], {
      // Its own process group: Ctrl-C in a terminal must reach only us, so that servers end in order.
      detached: true,
      cwd: options.cwd,
      stdio: ["ignore", log, log, "pipe"],
      env: { ...inheritedEnvironment, ...options.env },
      ...(options.uid === undefined ? {} : { uid: options.uid }),
      ...(options.gid === undefined ? {} : { gid: options.gid }),
    });
  } finally {
    closeSync(log);
  }
}

function follow(options: ProcessOptions, child: ChildProcess): RunningProcess {
  const { promise: exited, resolve } = Promise.withResolvers<number>();
  let hasExited = false;
  const finish = (code: number): void => {
    hasExited = true;
    child.stdio[3]?.destroy();
    resolve(code);
  };
  child.on("error", () => finish(127));
  child.on("exit", (code) => finish(code ?? 137));
  const pid = child.pid ?? 0;
  const signalGroup = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-pid, signal);
    } catch {
      // The group is gone already, which is what we want.
    }
  };
  const kill = async (): Promise<void> => {
    if (hasExited) return;
    signalGroup("SIGKILL");
    await exited;
  };
  const stop = async (): Promise<void> => {
    if (hasExited) return;
    child.kill("SIGTERM");
    const abort = new AbortController();
    const limit = sleep(options.stopTimeoutMs ?? 10_000, undefined, { signal: abort.signal }).catch(
      () => undefined,
    );
    await Promise.race([exited, limit]);
    abort.abort();
    await kill();
  };
  return {
    name: options.name,
    pid,
    exited,
    get hasExited() {
      return hasExited;
    },
    stop,
    kill,
    [Symbol.asyncDispose]: stop,
  };
}

async function waitUntilReady(options: ProcessOptions, running: RunningProcess): Promise<void> {
  const deadline = performance.now() + (options.readyTimeoutMs ?? 60_000);
  while (options.ready !== undefined) {
    if (running.hasExited) {
      const code = await running.exited;
      throw new EngineError(
        "ProcessEnded",
        `${options.name} ended with code ${code}:\n${logTail(options.logFile)}`,
      );
    }
    if (await options.ready().catch(() => false)) return;
    if (performance.now() > deadline) {
      throw new EngineError("NotReady", `${options.name} did not get ready:\n${logTail(options.logFile)}`);
    }
    await sleep(readyPollMs);
  }
}

/** The last lines of a log. */
export function logTail(path: string, lines = 15): string {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .slice(-lines - 1)
      .join("\n");
  } catch {
    return "(no log)";
  }
}
