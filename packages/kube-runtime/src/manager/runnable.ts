/** Parts that a Manager runs. */
import type { Informer } from "../cache/informer.ts";
import type { Cached } from "../cache/store.ts";

/** A part of a process that works until it is told to stop. A `Controller` is one. */
export interface Runnable {
  /** For logs and `/readyz`. */
  readonly name: string;
  /**
   * Works until the signal aborts, and then resolves as soon as its last write has ended. One that resolves earlier is done; one that
   * rejects has failed, see `onFailure`.
   */
  start(options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * `term` (the default): started for each term of the lease, once all caches are filled; without a lease there is one term.
   * `process`: started and stopped before the caches, with or without the lease; it must not need the lease to write. It is stopped when
   * the lease has been given back, and may take its time to answer those who wait.
   */
  readonly runs?: "term" | "process" | undefined;
  /** `end` (the default): the whole process ends with an error. `restart`: started again within the same term, after waits that grow. */
  readonly onFailure?: "end" | "restart" | undefined;
  /** Returns the reason why it cannot be relied on now, for `/readyz`; undefined when all is well. */
  problem?(): string | undefined;
}

/** A cache that is filled before the runnables of a term start. An `Informer` is one. */
export type ManagedCache = AsyncDisposable &
  Pick<Informer<Cached>, "type" | "start" | "whenSynced" | "synced" | "status">;

/** Anything that a Manager takes. */
export type ManagerPart = Runnable | ManagedCache;

/** Tells the two kinds of parts apart. */
export function isCache(part: ManagerPart): part is ManagedCache {
  return "whenSynced" in part;
}
