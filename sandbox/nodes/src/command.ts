/** Short programs of the machine, by lists of arguments and never by a line for a shell. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { NodeError } from "./errors.ts";

/** A program and its arguments. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. Default: that of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** For messages. Default: the command line. */
  readonly shown?: string | undefined;
}

/** What a program reads. */
export type Input = string | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * What the program prints. `input` is what it reads; default: nothing. Throws `NodeError` CommandFailed with its complaint, or with why there
 * was no more to read.
 */
export async function run(
  { command, args, env, shown = [command, ...args].join(" ") }: Command,
  input: Input = "",
): Promise<string> {
  const child = spawn(command, args, { env: env && { ...env }, stdio: ["pipe", "pipe", "pipe"] });
  const { promise: ended, resolve } = Promise.withResolvers<number | string | null>();
  child.on("error", (error) => resolve(error.message));
  child.on("close", (code, signal) => resolve(signal ?? code));
  const faults: unknown[] = [];
  // A program that does not read to the end says so by its exit code.
  const fed = pipeline(readable(input, faults), child.stdin).catch(() => undefined);
  const [output, complaint, end] = await Promise.all([text(child.stdout), text(child.stderr), ended, fed]);
  for (const cause of faults)
    throw new NodeError("CommandFailed", `${shown} got only a part of its input: ${String(cause)}`, {
      cause,
    });
  if (end === 0) return output;
  const words = complaint.trim().slice(-1_000) || `it ended with ${end}`;
  throw new NodeError("CommandFailed", `${shown} failed: ${words}`);
}

/** The input; why it cannot be read to its end is added to `faults`. */
async function* readable(input: Input, faults: unknown[]): AsyncGenerator<string | Uint8Array> {
  try {
    yield* typeof input === "string" ? [input] : input;
  } catch (fault) {
    faults.push(fault);
    throw fault;
  }
}
