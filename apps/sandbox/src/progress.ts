/** What the person in front of the terminal sees: one line for each step, with the time since the start. */

/** Prints steps. */
export interface Progress {
  /** A step that takes time; prints its name and, when done, how long it took. */
  step<T>(name: string, run: () => Promise<T>): Promise<T>;
  /** Something worth telling inside a step. */
  say(line: string): void;
  /** Seconds since the start. */
  elapsed(): number;
}

export function createProgress(write: (line: string) => void, now: () => number): Progress {
  const started = now();
  const elapsed = (): number => (now() - started) / 1000;
  const stamp = (): string => `[${elapsed().toFixed(1).padStart(6)} s]`;
  return {
    elapsed,
    say: (line) => write(`           ${line}`),
    async step(name, run) {
      write(`${stamp()} ${name} …`);
      const begun = now();
      const result = await run();
      write(`${stamp()} ${name}: done in ${((now() - begun) / 1000).toFixed(1)} s`);
      return result;
    },
  };
}
