/** Keeps the sandbox's servers running, as a cluster would: what ends by itself is reported and started again. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ProcessOptions, type RunningProcess, startProcess } from "@klutch/engines";
import type { Progress } from "./progress.ts";

/** Dependencies of every server of the sandbox. */
export interface Supervision {
  readonly stack: AsyncDisposableStack;
  readonly progress: Pick<Progress, "say">;
}

const restartDelayMs = 1_000;

/**
 * Starts a server, resolves when it is ready, and starts it again whenever it ends until the stack is disposed. Throws when the first
 * start fails; later ones are tried again.
 */
export async function keepProcess(supervision: Supervision, options: ProcessOptions): Promise<void> {
  const { stack, progress } = supervision;
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

/** Says so when a server ends that is not started again because its data needs a look first. */
export function reportEnd({ stack, progress }: Supervision, running: RunningProcess): void {
  void running.exited.then((code) => {
    if (!stack.disposed) progress.say(endOf(running, code, "; stop the sandbox and start it again"));
  });
}

function endOf(
  server: { readonly name: string; readonly logFile: string },
  code: number,
  next: string,
): string {
  return `${server.name} ended with code ${code}, its log is ${server.logFile}${next}`;
}
