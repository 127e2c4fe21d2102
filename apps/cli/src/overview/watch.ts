/** Repeats an overview until the person ends it. */
import type { CliContext } from "../context.ts";

/** An overview as text, and whether all in it is well. */
export interface Look {
  readonly text: string;
  readonly isWell: boolean;
}

/** Between two looks. */
export const watchEveryMs = 5_000;

/** Prints what `look` returns; with `isWatching` again whenever it has changed, until Ctrl-C. Returns whether the last look was well. */
export async function printLooks(
  { terminal, clock, signal }: CliContext,
  isWatching: boolean,
  look: () => Promise<Look>,
): Promise<boolean> {
  let last = await look();
  terminal.out(last.text);
  while (isWatching && !signal.aborted) {
    try {
      await clock.sleep(watchEveryMs, { signal });
      const next = await look();
      if (next.text !== last.text) terminal.out(`\n${next.text}`);
      last = next;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  return last.isWell;
}
