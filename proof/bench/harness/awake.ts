/**
 * Keeps the processors from sleeping. To wake a virtual one costs up to half a millisecond, many times for each request, and its host
 * counts the wait as stolen (proof/bench/RESULTS.md). Does the same as tuned's profile `latency-performance`, by the kernel's PM QoS.
 */
import { open } from "node:fs/promises";

const file = "/dev/cpu_dma_latency";

/** They stay awake until disposed. `isAwake` is false where the kernel or the rights for it are missing. */
export async function keepAwake(): Promise<AsyncDisposable & { readonly isAwake: boolean }> {
  const handle = await open(file, "r+").catch(() => undefined);
  // A signed 32-bit number of microseconds: the longest time to wake up that is acceptable.
  await handle?.write(new Uint8Array(4));
  return {
    isAwake: handle !== undefined,
    [Symbol.asyncDispose]: async () => handle?.close(),
  };
}
