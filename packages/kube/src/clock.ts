/** Time as a dependency, so that tests can turn it. */
export interface Clock {
  /** Wall clock in milliseconds since the epoch. May jump; use it only for what people and other machines read. */
  now(): number;
  /** Monotonic milliseconds; use it for every duration and deadline. */
  monotonic(): number;
  /** Resolves after `delayMs`; rejects with the signal's reason when aborted first. */
  sleep(delayMs: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
  /** Runs `callback` once after `delayMs`; the returned function cancels it. The timer does not keep the process alive. */
  schedule(delayMs: number, callback: () => void): () => void;
}

/** The longest delay a Node timer honours; anything longer would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(delayMs, options) {
    const signal = options?.signal;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(abortReason(signal));
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        if (signal !== undefined) reject(abortReason(signal));
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
        Math.min(delayMs, longestTimerMs),
      );
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, longestTimerMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error("aborted", { cause: signal.reason });
}
