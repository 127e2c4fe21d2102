/** One run of a program such as `pg_dump`, whose input and output are streams. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";

/** What to run. */
export interface ChildOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** All that the program sees of the environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Default: ours. */
  readonly cwd?: string | undefined;
  readonly signal: AbortSignal;
}

/** It ended with an error; `message` has its own last words, on one line. */
export class ChildError extends Error {
  constructor(program: string, words: string) {
    super(`${program.slice(program.lastIndexOf("/") + 1)} failed: ${words}`);
    this.name = "ChildError";
  }
}

const longestWords = 500;
const keptBytes = 16 * 1024;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Writes what the program prints to `to`, and ends it only when the program succeeded. */
export async function runInto(options: ChildOptions, to: Writable): Promise<void> {
  await using child = start(options);
  child.process.stdin.end();
  await Promise.all([pipeline(child.process.stdout, to, { end: false }), child.succeeded]);
  to.end();
  await finished(to);
}

/** Runs the program for what it does; what it prints is not read. */
export async function runProgram(options: ChildOptions): Promise<void> {
  await using child = start(options);
  child.process.stdin.end();
  child.process.stdout.resume();
  await child.succeeded;
}

/** Feeds the program; throws what reading `from` throws, for then the program only saw the half. */
export async function runFrom(options: ChildOptions, from: Readable): Promise<void> {
  await using child = start(options);
  child.process.stdout.resume();
  await Promise.all([feed(child.process.stdin, from), child.succeeded]);
}

/** Feeds the program as long as it reads; gives each line that it prints. */
export async function readLines(
  options: ChildOptions,
  from: Readable,
  online: (line: string) => void,
): Promise<void> {
  await using child = start(options);
  const { stdout, stdin } = child.process;
  stdout.setEncoding("utf8");
  const reading = async (): Promise<void> => {
    let rest = "";
    for await (const chunk of stdout) {
      const lines = `${rest}${String(chunk)}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) online(line);
    }
  };
  await Promise.all([feed(stdin, from), reading(), child.succeeded]);
}

/** A program that has read enough closes its end; how it ends says whether that was right. */
async function feed(stdin: Writable, from: Readable): Promise<void> {
  await pipeline(from, stdin).catch((error: unknown) => {
    if (!isClosedPipe(error)) throw error;
  });
}

function isClosedPipe(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "EPIPE" || code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE";
}

interface StartedChild extends AsyncDisposable {
  readonly process: Child;
  readonly succeeded: Promise<void>;
}

function start({ program, args, env, cwd, signal }: ChildOptions): StartedChild {
  signal.throwIfAborted();
  const child = spawn(program, args, { env: { ...env }, cwd, stdio: ["pipe", "pipe", "pipe"] });
  const words = collect(child.stderr);
  const stop = (): void => {
    child.kill("SIGKILL");
  };
  signal.addEventListener("abort", stop, { once: true });
  const ended = once(child, "close").then(([code, killedBy]: unknown[]) => {
    signal.throwIfAborted();
    if (code !== 0) throw new ChildError(program, words() || `it was ended by ${String(killedBy ?? code)}`);
  });
  // Somebody may fail before it is awaited.
  ended.catch(() => undefined);
  return {
    process: child,
    succeeded: ended,
    async [Symbol.asyncDispose]() {
      stop();
      await ended.catch(() => undefined);
      signal.removeEventListener("abort", stop);
    },
  };
}

/** The last words, as far as they say what is wrong; names in them are a tenant's, so they are kept short and on one line. */
function collect(stderr: Readable): () => string {
  let text = "";
  stderr.setEncoding("utf8");
  stderr.on("data", (chunk: string) => {
    text = (text + chunk).slice(-keptBytes);
  });
  return () => {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    const errors = lines.filter((line) => /error:|fatal:/i.test(line));
    const said = (errors.length === 0 ? lines : errors).join("; ");
    return said
      .replace(/\p{C}/gu, " ")
      .replace(/\bpg_(?:dump|restore): error: /g, "")
      .slice(0, longestWords);
  };
}
