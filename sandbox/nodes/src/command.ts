/** Runs programs of the machine, by lists of arguments: short ones, and shells that clean up after this process. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { EngineError, run as execute, textOf } from "@klutch/engines";

/** A program and its arguments. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. Default: that of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Name of the command in messages. Default: the command line. */
  readonly shown?: string | undefined;
}

/** Returns the program's output; `input` is its standard input. Throws `EngineError` CommandFailed with its complaint. */
export async function run(
  { command, args, env, shown = [command, ...args].join(" ") }: Command,
  input: string | Uint8Array = "",
): Promise<string> {
  const running = execute(command, args, { env: env && { ...env } });
  // A program that does not read to the end says so by its exit code.
  running.child.stdin?.on("error", () => undefined).end(input);
  try {
    return (await running).stdout;
  } catch (cause) {
    const words = textOf(cause, "stderr").trim().slice(-1_000) || String(cause);
    throw new EngineError("CommandFailed", `${shown} failed: ${words}`, { cause });
  }
}

/**
 * A small shell that outlives this process for as long as it takes to clean up: it reads from a pipe that only this process holds open, and the kernel
 * closes the pipe when this process ends, also by SIGKILL. Disposing closes the pipe, and waits until the shell
 * has cleaned up.
 */
export interface Watchdog extends AsyncDisposable {
  /** Returns the next line that it prints. Throws `EngineError` NodeEnded, with its complaints, when it ends before. */
  line(): Promise<string>;
  /** Its exit code. */
  readonly exited: Promise<number>;
}

/** Number of last lines of complaints that are kept. */
const mostComplaints = 20;

/** Starts the script with these arguments, and only `env` in its environment. A line on standard input or its end means: clean up. */
export function startWatchdog(
  name: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Watchdog {
  // Ctrl-C in a terminal is for this process, which then closes the pipe; the shell is not to hear of it before.
  const child = spawn("/bin/sh", ["-c", script, name, ...args], {
    detached: true,
    cwd: "/",
    env: { ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const complaints: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    complaints.push(line);
    if (complaints.length > mostComplaints) complaints.shift();
  });
  const { promise: exited, resolve } = Promise.withResolvers<number>();
  child.on("error", () => resolve(127));
  child.on("close", (code) => resolve(code ?? 128));
  // It may have ended already.
  child.stdin.on("error", () => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    exited,
    line: async () => {
      const { value, done } = await lines.next();
      if (done !== true) return value;
      throw new EngineError("NodeEnded", `${name} ended with code ${await exited}: ${complaints.join("\n")}`);
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
