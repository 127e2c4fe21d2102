/** Runs short programs of the machine, by lists of arguments and never by a line for a shell. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { NodeError } from "./errors.ts";

const execute = promisify(execFile);

/** A program and its arguments. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. Default: that of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Name of the command in messages. Default: the command line. */
  readonly shown?: string | undefined;
}

/** Returns the program's output; `input` is its standard input. Throws `NodeError` CommandFailed with its complaint. */
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
    const complaint = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : "";
    const words = complaint.slice(-1_000) || String(cause);
    throw new NodeError("CommandFailed", `${shown} failed: ${words}`, { cause });
  }
}
