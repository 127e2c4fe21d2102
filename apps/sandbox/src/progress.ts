/** What the person in front of the terminal sees: one line for each step, with the time since the start. */

/** Prints steps. */
export interface Progress {
  /** A step that takes time; prints its name and, when done, how long it took. */
  step<T>(name: string, run: () => Promise<T>): Promise<T>;
  /** Something worth reporting inside a step. */
  say(line: string): void;
  /** Seconds since the start. */
  elapsed(): number;
}

/** A step that runs when the signal aborts is given up at once; what it does in the background must not matter any more. */
export function createProgress(
  write: (line: string) => void,
  now: () => number,
  signal: AbortSignal,
): Progress {
  const started = now();
  const elapsed = (): number => (now() - started) / 1000;
  const stamp = (): string => `[${elapsed().toFixed(1).padStart(6)} s]`;
  return {
    elapsed,
    say: (line) => write(`           ${line}`),
    async step(name, run) {
      write(`${stamp()} ${name} …`);
      const begun = now();
      const result = await unlessAborted(signal, run);
      write(`${stamp()} ${name}: done in ${((now() - begun) / 1000).toFixed(1)} s`);
      return result;
    },
  };
}

async function unlessAborted<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([run(), aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
