/** Runs one part, and starts it again when its rule says so. */
import { Backoff } from "../backoff.ts";
import type { Runnable } from "./runnable.ts";
import type { Runtime } from "./runtime.ts";

/** Options of a part's restarts. */
export interface KeepRunningOptions extends Pick<Runtime, "logger" | "clock" | "random"> {
  readonly signal: AbortSignal;
}

/** Bounds of the waits between two starts. */
const waits = { baseMs: 200, capMs: 10_000 } as const;
/** A part that worked for this long starts again with short waits. */
const provenMs = 60_000;

/**
 * Resolves when the part has ended in order or was stopped. Rejects with its error when it failed and may not be restarted. What
 * goes wrong while it stops is logged only.
 */
export async function keepRunning(part: Runnable, options: KeepRunningOptions): Promise<void> {
  const { signal, logger, clock, random } = options;
  const backoff = new Backoff({ ...waits, random });
  while (!signal.aborted) {
    const startedAt = clock.monotonic();
    try {
      await part.start({ signal });
      return;
    } catch (error) {
      if (signal.aborted) {
        if (error !== signal.reason)
          logger.debug("a part failed while it stopped", { part: part.name, error });
        return;
      }
      if (part.onFailure !== "restart") throw error;
      if (clock.monotonic() - startedAt >= provenMs) backoff.reset();
      const retryInMs = backoff.next();
      logger.error("a part failed, starting it again", { part: part.name, error, retryInMs });
      await clock.sleep(retryInMs, { signal }).catch(() => undefined);
    }
  }
}
