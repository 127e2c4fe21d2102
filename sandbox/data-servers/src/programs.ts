/** Runs a program such as `pg_dump` once, with streams as its input and output. */
import { spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";

/** A program and how to run it. */
export interface ProgramRun extends Pick<SpawnOptions, "cwd" | "uid" | "gid"> {
  readonly program: string;
  readonly args: readonly string[];
  /** The whole environment of the program: it inherits nothing. */
  readonly env: Readonly<Record<string, string>>;
  /** Kills the program. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** A program failed; `message` holds its last words on one line, for the person who asked. */
export class ProgramError extends Error {
  readonly code = "ProgramFailed";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProgramError";
  }
}

const longestWords = 500;
const keptBytes = 16 * 1024;

/**
 * Feeds `from` to the program and writes its output to `to`, which is ended only when the program succeeded. Throws `ProgramError` when the
 * program fails, and the stream's own error when reading or writing fails.
 */
export async function runProgram(
  { program, args, signal, ...options }: ProgramRun,
  { from, to }: { readonly from?: Readable; readonly to?: Writable } = {},
): Promise<void> {
  signal?.throwIfAborted();
  const child = spawn(program, args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
  const words = collect(child.stderr);
  const closed = once(child, "close");
  const stop = (): void => void child.kill("SIGKILL");
  signal?.addEventListener("abort", stop, { once: true });
  const succeeded = closed.then(([code, killedBy]: unknown[]) => {
    signal?.throwIfAborted();
    if (code === 0) return;
    const name = program.slice(program.lastIndexOf("/") + 1);
    throw new ProgramError(`${name} failed: ${words() || `it ended with ${String(killedBy ?? code)}`}`);
  });
  try {
    if (from === undefined) child.stdin.end();
    if (to === undefined) child.stdout.resume();
    await Promise.all([
      from === undefined ? undefined : pipeline(from, child.stdin).catch(ignoreClosedPipe),
      to === undefined ? undefined : pipeline(child.stdout, to, { end: false }),
      succeeded,
    ]);
    to?.end();
    if (to !== undefined) await finished(to);
  } finally {
    stop();
    await closed.catch(() => undefined);
    signal?.removeEventListener("abort", stop);
  }
}

/** A program may close its input early; its exit code says whether that was right. */
function ignoreClosedPipe(error: unknown): void {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code !== "EPIPE" && code !== "ECONNRESET" && code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
}

/** Keeps the end of the output, and returns its errors, shortened, on one line. */
function collect(stderr: Readable): () => string {
  let text = "";
  stderr.setEncoding("utf8");
  stderr.on("data", (chunk: string) => {
    text = (text + chunk).slice(-keptBytes);
  });
  return () => {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    const errors = lines.filter((line) => /\b(?:error|fatal)\b/i.test(line));
    return (errors.length === 0 ? lines : errors)
      .join("; ")
      .replace(/\p{C}/gu, " ")
      .replace(/\bpg_(?:dump|restore): error: /g, "")
      .slice(0, longestWords);
  };
}
