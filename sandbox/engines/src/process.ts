/**
 * Runs a server as a child process that cannot outlive this one: a small shell beside it reads from a pipe that only this process
 * holds open. The kernel closes the pipe when this process ends, also by SIGKILL, and then the shell ends the server's group.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, fchmodSync, openSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { constants } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EngineError, inheritedEnvironment } from "./environment.ts";

/** Describes the process to run. */
export interface ProcessOptions {
  /** Name of the server in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the inherited environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** Standard output and error are appended here; other users cannot read it. */
  readonly logFile: string;
  /** Resolves to true once the server serves; asked until then. Default: ready at once. */
  readonly ready?: (() => Promise<boolean>) | undefined;
  /** Default 60 000. */
  readonly readyTimeoutMs?: number | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /** Signal that asks the server to end. Default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals | undefined;
  /** Milliseconds that the server may take to end by itself. Default 10 000. */
  readonly stopTimeoutMs?: number | undefined;
  /** Gives up waiting for readiness, and ends the server. */
  readonly signal?: AbortSignal | undefined;
}

/** A server that runs. */
export interface RunningProcess extends AsyncDisposable {
  readonly name: string;
  /** Process id of the server, and of its process group. */
  readonly pid: number;
  readonly logFile: string;
  /** The exit code; 128 and the signal's number when a signal ended it. */
  readonly exited: Promise<number>;
  readonly hasExited: boolean;
  /** Asks the server to end, then SIGKILL after `stopTimeoutMs`. */
  stop(): Promise<void>;
  /** SIGKILL at once, as a crash would. */
  kill(): Promise<void>;
}

/** The command takes the place of the shell that started it, so its exit code and its signals need no interpreter. */
const watched = `
{
  read -r _ <&3
  kill -TERM $$
  for _ in 1 2 3 4 5; do kill -0 $$ && sleep 1; done
  kill -KILL -$$
} </dev/null >/dev/null 2>&1 &
exec "$@" 3<&-
`;

/**
 * Returns the arguments of `/bin/sh` that make it run a command which ends soon after file descriptor 3 is closed, so with the process that
 * holds the other end, however that one ends. The command must lead a process group.
 */
export function watchedArguments(name: string, command: string, args: readonly string[]): readonly string[] {
  return ["-c", watched, name, command, ...args];
}

const readyPollMs = 100;
/** Servers log what their users said to them. */
const ownerOnly = 0o600;

/** Starts the process and waits until it is ready. Throws `EngineError` with the end of its log when it is not. */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  options.signal?.throwIfAborted();
  await mkdir(dirname(options.logFile), { recursive: true });
  const running = follow(options, spawnWatched(options));
  try {
    await waitUntilReady(options, running);
    return running;
  } catch (error) {
    await running.kill();
    throw error;
  }
}

function spawnWatched(options: ProcessOptions): ChildProcess {
  const log = openSync(options.logFile, "a", ownerOnly);
  try {
    // One that an older version made is open to everybody.
    fchmodSync(log, ownerOnly);
    return spawn("/bin/sh", watchedArguments(options.name, options.command, options.args), {
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
    // Ends processes that the server left in its group, and the shell that watches us.
    killGroup(child.pid);
    child.stdio[3]?.destroy();
    resolve(code);
  };
  child.on("error", () => finish(127));
  child.on("exit", (code, signal) => finish(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  const kill = async (): Promise<void> => {
    if (!hasExited) killGroup(child.pid);
    await exited;
  };
  const stop = async (): Promise<void> => {
    if (hasExited) return;
    child.kill(options.stopSignal ?? "SIGTERM");
    const timer = setTimeout(() => killGroup(child.pid), options.stopTimeoutMs ?? 10_000);
    await exited;
    clearTimeout(timer);
  };
  return {
    name: options.name,
    pid: child.pid ?? 0,
    logFile: options.logFile,
    exited,
    get hasExited() {
      return hasExited;
    },
    stop,
    kill,
    [Symbol.asyncDispose]: stop,
  };
}

/** Does nothing for a process that could not be started: a group id of 0 would mean our own group. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone already, which is what we want.
  }
}

async function waitUntilReady(options: ProcessOptions, running: RunningProcess): Promise<void> {
  const { ready, signal, readyTimeoutMs = 60_000 } = options;
  if (ready === undefined) return;
  const ended = running.exited.then((code) => {
    const log = logTail(options.logFile);
    throw new EngineError("ProcessEnded", `${options.name} ended with code ${code}:\n${log}`);
  });
  const deadline = AbortSignal.timeout(readyTimeoutMs);
  const stop = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  const stopped = once(stop, "abort").then(() => stop.throwIfAborted());
  // Once the server is ready, neither its end nor a signal is a failure to start.
  for (const later of [ended, stopped]) later.catch(() => undefined);
  let lastProblem: unknown = "it did not say so";
  const asked = async (): Promise<boolean> => {
    try {
      const isReady = await ready();
      lastProblem = "it said that it is not";
      return isReady;
    } catch (error) {
      lastProblem = error;
      return false;
    }
  };
  try {
    stop.throwIfAborted();
    while ((await Promise.race([asked(), ended, stopped])) !== true)
      await Promise.race([sleep(readyPollMs), ended, stopped]);
  } catch (error) {
    if (signal?.aborted === true || !deadline.aborted) throw error;
    const text = `${options.name} was not ready after ${readyTimeoutMs / 1000} s: ${String(lastProblem)}\n`;
    throw new EngineError("NotReady", text + logTail(options.logFile), { cause: lastProblem });
  }
}

/** Returns the last lines of a log. */
export function logTail(path: string, lines = 15): string {
  try {
    const all = readFileSync(path, "utf8").split("\n");
    return all.slice(-lines - 1).join("\n");
  } catch {
    return "(no log)";
  }
}
