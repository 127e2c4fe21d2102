/**
 * A small shell that outlives this process for as long as it takes to clean up: it reads from a pipe that only this process holds open, and
 * the kernel closes the pipe when this process ends, also by SIGKILL.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { NodeError } from "./errors.ts";

/** A shell at work. Disposing lets go of the leash, and waits until the shell has cleaned up. */
export interface Leashed extends AsyncDisposable {
  /** The next line that it prints. Throws `NodeError` Ended, with its complaints, when it ends before. */
  line(): Promise<string>;
  /** Its exit code. */
  readonly exited: Promise<number>;
}

/** So many lines are kept, the last ones. */
const mostComplaints = 20;

/** Starts the script with these arguments, and nothing but `env` in its environment. It gets the leash as standard input; a line or its end means: clean up. */
export function startLeashed(
  name: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Leashed {
  const child = spawn("/bin/sh", ["-c", script, name, ...args], {
    // Ctrl-C in a terminal is for us; the shell hears of it by the leash.
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
      const code = await exited;
      throw new NodeError("Ended", `${name} ended with code ${code}: ${complaints.join("\n")}`);
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
