/** Starts the parts of a process in order and stops them in the reverse order. */
import type { Logger } from "@klutch/telemetry";
import type { Controller } from "./controller.ts";
import type { Informer } from "./cache/informer.ts";
import type { Cached } from "./cache/store.ts";
import { leading, type LeaderElector } from "./leader-elector.ts";

/** What to run. */
export interface ManagerOptions {
  readonly informers: readonly Pick<Informer<Cached>, "start" | "whenSynced">[];
  readonly controllers: readonly Controller[];
  /** Without one the controllers run at once. */
  readonly elector?: LeaderElector | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Caches first, then (with an elector) whenever the lease is held, the controllers. Losing the lease stops the controllers; they
 * start again with the next term. Resolves when everything has stopped.
 */
export async function runManager(options: ManagerOptions): Promise<void> {
  const { informers, controllers, elector, signal, logger } = options;
  for (const informer of informers) informer.start({ signal });
  // The lease is given back only after the last reconcile has ended.
  const lease = new AbortController();
  const election = elector?.run({ signal: lease.signal });
  try {
    await Promise.all(informers.map((informer) => informer.whenSynced({ signal })));
    logger.info("caches are filled");
    while (!signal.aborted) {
      const term = elector === undefined ? signal : await leading(elector, signal);
      if (term === undefined) break;
      const both = AbortSignal.any([signal, term]);
      await Promise.all(controllers.map((controller) => controller.start({ signal: both })));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    lease.abort(new Error("stopping"));
    await election;
  }
}
