/**
 * Shows the delay of an event loop that the machine alone causes: a thread does nothing but time its own timer, with the resolution of
 * the agent's metric. When the timer is late, the thread waited for a processor.
 */
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

/** A thread that runs. */
export interface IdleLoop extends AsyncDisposable {
  /** Milliseconds, the timer's 10 included, since the last call. */
  p99(): Promise<number>;
}

/** Starts the thread. */
export function startIdleLoop(): IdleLoop {
  const worker = new Worker(new URL(import.meta.url));
  return {
    async p99() {
      const answer = once(worker, "message");
      worker.postMessage("p99");
      return Number((await answer)[0]);
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  port.on("message", () => {
    port.postMessage(delay.percentile(99) / 1e6);
    delay.reset();
  });
}
