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
    return abortableSleep((wake) => {
      const timer = setTimeout(wake, Math.min(delayMs, longestTimerMs));
      return () => clearTimeout(timer);
    }, options?.signal);
  },
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, longestTimerMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * A sleep on a timer of any clock: `start` sets one that calls `wake`, and gives back what cancels it. Rejects with the signal's reason
 * when it is aborted first; then no timer is left, and none is set when it was aborted before.
 */
export function abortableSleep(
  start: (wake: () => void) => () => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(abortReason(signal));
      return;
    }
    const onAbort = (): void => {
      cancel();
      if (signal !== undefined) reject(abortReason(signal));
    };
    const cancel = start(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error("aborted", { cause: signal.reason });
}
