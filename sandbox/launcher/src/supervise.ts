/** Keeps the sandbox's servers running, as a cluster would: a server that ends by itself is reported and started again. */
import { setTimeout as sleep } from "node:timers/promises";
import { konnectorRuntime } from "@klutch/api";
import { ownProgram, type ProcessOptions, type RunningProcess, startProcess } from "@klutch/engines";
import type { Progress } from "./progress.ts";

/** Owner of the servers, and where they are reported. */
export interface Supervision {
  readonly stack: AsyncDisposableStack;
  readonly progress: Pick<Progress, "say">;
}

/** Options of a server. */
export interface ServerOptions extends Omit<ProcessOptions, "ready"> {
  /** A URL that answers with success, or a question, once the server serves. Default: it is ready at once. */
  readonly ready?: string | (() => Promise<boolean>) | undefined;
}

const restartDelayMs = 1_000;

/**
 * Starts a server, resolves when it is ready, and starts it again whenever it ends until the stack is disposed. Throws when the first
 * start fails; later ones are tried again.
 */
export async function keepProcess({ stack, progress }: Supervision, server: ServerOptions): Promise<void> {
  const { ready, ...rest } = server;
  const answers = typeof ready === "string" ? async () => (await fetch(ready)).ok : ready;
  const options: ProcessOptions = { ...rest, ready: answers };
  const stop = new AbortController();
  let current: RunningProcess | undefined = await startProcess(options);
  const watch = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const code = await current?.exited;
      if (stop.signal.aborted) return;
      if (code !== undefined) progress.say(endOf(options, code, "; starting it again"));
      current = undefined;
      try {
        await sleep(restartDelayMs, undefined, { signal: stop.signal });
        current = await startProcess({ ...options, signal: stop.signal });
      } catch (error) {
        if (!stop.signal.aborted) progress.say(`${options.name} did not start again: ${String(error)}`);
      }
    }
  };
  const watching = watch();
  stack.defer(async () => {
    stop.abort(new Error("stopping"));
    await current?.stop();
    await watching;
  });
}

/** Keeps one of Klutch's own programs running, with the Node that runs the sandbox. */
export async function keepApp(
  supervision: Supervision,
  app: string,
  { name = app, args = [], env, ...rest }: Partial<ServerOptions> & { readonly logFile: string },
): Promise<void> {
  await keepProcess(supervision, {
    ...rest,
    name,
    command: process.execPath,
    // Keeps memory close to the used amount, as in the shipped manifests.
    env: { ...konnectorRuntime, ...env },
    args: [ownProgram(app), ...args],
  });
}

/** Reports the end of a server that is not started again, because its data needs a look first. */
export function reportEnd({ stack, progress }: Supervision, running: RunningProcess): void {
  void running.exited.then((code) => {
    if (!stack.disposed) progress.say(endOf(running, code, "; stop the sandbox and start it again"));
  });
}

function endOf({ name, logFile }: Pick<RunningProcess, "name" | "logFile">, code: number, next: string) {
  return `${name} ended with code ${code}, its log is ${logFile}${next}`;
}

/** Returns the log that a printed line names, if the line reports the end of a server. */
export function logOfEnd(line: string): string | undefined {
  return / ended with code \d+, its log is ([^;]+)(?:; st|$)/.exec(line)?.[1];
}
