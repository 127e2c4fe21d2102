/** Prints the progress for the person at the terminal: one line for each step, with the time since the start. */

/** Prints steps. */
export interface Progress {
  /** A step that takes time; prints its name and, when done, how long it took. */
  step<T>(name: string, run: () => Promise<T>): Promise<T>;
  /** Prints a detail of a step; each of several lines becomes a line of its own. */
  say(text: string): void;
  /** Prints work that runs beside other work: each line begins with its name, and a step is one line, when it is done. */
  beside(name: string): Progress;
  /** Seconds since the start. */
  elapsed(): number;
}

/** Room for the name of work that runs beside other work. */
const nameWidth = 11;

/** Gives up a running step at once when the signal aborts; what it does in the background must not matter any more. */
export function createProgress(
  write: (line: string) => void,
  now: () => number,
  signal: AbortSignal,
): Progress {
  const started = now();
  const elapsed = (): number => (now() - started) / 1000;
  const stamped = (line: string): void => write(`[${elapsed().toFixed(1).padStart(6)} s] ${line}`);
  const timed = async <T>(run: () => Promise<T>, done: (seconds: string) => void): Promise<T> => {
    const begun = now();
    const result = await unlessAborted(signal, run);
    done(`${((now() - begun) / 1000).toFixed(1)} s`);
    return result;
  };
  const sayAs = (whose: string, text: string): void => {
    for (const line of text.split("\n")) write(`           ${whose}${line}`);
  };
  const beside = (name: string): Progress => {
    const say = (text: string): void => sayAs(`${name.padEnd(nameWidth)} `, text);
    const step: Progress["step"] = (what, run) => timed(run, (seconds) => say(`${what}: ${seconds}`));
    return { elapsed, say, beside, step };
  };
  return {
    elapsed,
    say: (text) => sayAs("", text),
    beside,
    step(name, run) {
      // Nothing begins after Ctrl-C.
      if (!signal.aborted) stamped(`${name} …`);
      return timed(run, (seconds) => stamped(`${name}: done in ${seconds}`));
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
