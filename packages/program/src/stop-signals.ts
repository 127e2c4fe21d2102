/** Signals by which people and kubelets stop a process. */
import type { Logger } from "@klutch/telemetry";

/** Part of Node's `process` that is used. */
export interface SignalSource {
  on(name: "SIGINT" | "SIGTERM", listener: () => void): unknown;
  exit(code: number): unknown;
}

/** The first SIGINT or SIGTERM aborts the signal, which ends the process in order; a second one ends it at once, with code 1. */
export function stopOnSignals(source: SignalSource, logger: Logger): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    source.on(name, () => {
      if (stop.signal.aborted) {
        logger.warn("stopping at once, because of a second signal", { signal: name });
        source.exit(1);
        return;
      }
      logger.info("stopping", { signal: name });
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  return stop.signal;
}
