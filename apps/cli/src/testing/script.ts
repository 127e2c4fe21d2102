/** A terminal whose person is a script, for tests. */
import { systemClock } from "@klutch/kube";
import type { CliContext } from "../context.ts";

/** Output of a run, and the context that prints there. */
export interface ScriptedRun {
  readonly context: CliContext;
  /** Standard output so far. */
  stdout(): string;
  /** Standard error so far. */
  stderr(): string;
}

/** A run whose questions are answered by `answers`, in order; when they are used up, standard input has ended. */
export function scriptedRun(
  options: {
    readonly env?: Readonly<Record<string, string>> | undefined;
    readonly answers?: readonly string[] | undefined;
    readonly stdin?: string | undefined;
    /** Makes the terminal interactive: the browser is "opened" by calling this, prompts take the answers. */
    readonly browser?: ((url: string) => void) | undefined;
    readonly signal?: AbortSignal | undefined;
  } = {},
): ScriptedRun {
  const out: string[] = [];
  const err: string[] = [];
  const answers = [...(options.answers ?? [])];
  const context: CliContext = {
    env: options.env ?? {},
    clock: systemClock,
    signal: options.signal ?? new AbortController().signal,
    openBrowser: (url) => options.browser?.(url),
    terminal: {
      interactive: options.browser !== undefined,
      out: (text) => void out.push(text),
      say: (line) => void err.push(`${line}\n`),
      waiting: (what) => {
        err.push(`${what}\n`);
        return () => {};
      },
      readLine: () => Promise.resolve(answers.shift()),
      readAll: () => Promise.resolve(options.stdin ?? ""),
      confirm: () => Promise.resolve(answers.length === 0 ? undefined : answers.shift() === "yes"),
    },
  };
  return { context, stdout: () => out.join(""), stderr: () => err.join("") };
}
