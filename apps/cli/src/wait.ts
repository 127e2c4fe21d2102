/** Bounded waiting. */
import type { CliContext } from "./context.ts";
import { CliError } from "./errors.ts";

/** Asks `probe` until it gives something, and shows that only if there is something to wait for; after `timeoutMs` fails with `problem()`, which says what to look at. */
export async function waitFor<T>(
  context: CliContext,
  options: {
    /** Subject of the wait, for the spinner: "the provider to accept …". */
    readonly what: string;
    readonly timeoutMs: number;
    readonly problem: () => string;
    readonly intervalMs?: number | undefined;
  },
  probe: () => Promise<T | undefined>,
): Promise<T> {
  const { clock, signal } = context;
  const deadline = clock.monotonic() + options.timeoutMs;
  let stop: (() => void) | undefined;
  try {
    for (;;) {
      const result = await probe();
      if (result !== undefined) return result;
      if (clock.monotonic() >= deadline) {
        const seconds = Math.round(options.timeoutMs / 1000);
        throw new CliError("Timeout", `Waited ${seconds} s for ${options.what}: ${options.problem()}`);
      }
      stop ??= context.terminal.waiting(`Waiting for ${options.what}`);
      await clock.sleep(options.intervalMs ?? 250, { signal });
    }
  } finally {
    stop?.();
  }
}
