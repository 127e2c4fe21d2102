/**
 * A small shell that outlives this process for as long as it takes to clean up: it reads from a pipe that only this process holds open, and
 * the kernel closes the pipe when this process ends, also by SIGKILL.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { NodeError } from "./errors.ts";

/** A shell at work. Disposing closes the pipe, and waits until the shell has cleaned up. */
export interface Watchdog extends AsyncDisposable {
  /** Returns the next line that it prints. Throws `NodeError` Ended, with its complaints, when it ends before. */
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
      throw new NodeError("Ended", `${name} ended with code ${await exited}: ${complaints.join("\n")}`);
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
