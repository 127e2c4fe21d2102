/** Prints nothing, for tests. */
import type { Progress } from "../progress.ts";

/** Runs steps and prints none of them. */
export const silentProgress: Progress = {
  step: (_name, run) => run(),
  say: () => undefined,
  beside: () => silentProgress,
  elapsed: () => 0,
};
