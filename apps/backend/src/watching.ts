/**
 * Runs caches of the console and of cost. They are no caches of the Manager: a right that the backend lacks, such as in an upgrade before its role
 * is applied, leaves rows of the console and prices out. It must not stop the controllers and logins, which wait for the Manager's caches.
 */
import { type ManagedCache, type Runnable, untilAborted } from "@klutch/kube-runtime";

/** Starts the caches, and ends them with the process. */
export function watching(name: string, caches: readonly ManagedCache[]): Runnable {
  return {
    name,
    runs: "process",
    start: async ({ signal }) => {
      for (const cache of caches) cache.start({ signal });
      await untilAborted(signal);
      await Promise.all(caches.map((cache) => cache[Symbol.asyncDispose]()));
    },
  };
}
