/** Runs the parts of a process in order, and stops them in the reverse order. */
import { leading, type LeaderElector } from "../leader-elector.ts";
import { type HealthCheck, startProbes } from "../probes.ts";
import { keepRunning } from "./keep-running.ts";
import { isCache, type ManagedCache, type ManagerPart, type Runnable } from "./runnable.ts";
import type { Runtime } from "./runtime.ts";
import { untilAborted } from "./until-aborted.ts";

/** The cluster's part of a Manager; a `ClusterConnection` is one. */
export interface ManagedConnection extends AsyncDisposable {
  readonly elector?: Pick<LeaderElector, "run" | "whenLeading"> | undefined;
}

/** Address of `/healthz`, `/readyz` and `/metrics`. */
export interface ProbeAddress {
  /** Default: all interfaces. */
  readonly host?: string | undefined;
  /** 0 chooses a free one. */
  readonly port: number;
}

/** Options of a Manager. */
export interface ManagerOptions extends Runtime {
  /** Without it nothing listens. */
  readonly probes?: ProbeAddress | undefined;
  /** Called with the port once the probes answer. */
  readonly onListening?: ((port: number) => void) | undefined;
  /** Its lease decides when the runnables of a term run; disposed last. Without one there is a single term. */
  readonly connection?: ManagedConnection | undefined;
}

/**
 * Starts: probes and metrics; the competition for the lease; runnables of the process; caches, until they are filled; then, whenever
 * the lease is held, the runnables of the term, in the order in which they were added. Stops: `/readyz` fails; runnables of the term; the
 * lease is given back, because nothing that needs it writes any more; runnables of the process, the latest first, which may have
 * somebody to answer; the caches that they read; probes and metrics.
 */
export class Manager {
  readonly runtime: Runtime;
  readonly #options: ManagerOptions;
  readonly #caches: ManagedCache[] = [];
  readonly #ofProcess: Runnable[] = [];
  readonly #ofTerm: Runnable[] = [];
  readonly #owned = new AsyncDisposableStack();

  constructor(options: ManagerOptions) {
    const { logger, metrics, clock, random, tracer } = options;
    this.runtime = { logger, metrics, clock, random, tracer };
    this.#options = options;
    if (options.connection !== undefined) this.#owned.use(options.connection);
  }

  /** Adds parts, before `start`. */
  add(...parts: readonly Runnable[]): void;
  add(...parts: readonly ManagerPart[]): void;
  add(...parts: readonly ManagerPart[]): void {
    for (const part of parts) {
      if (isCache(part)) this.#caches.push(part);
      else (part.runs === "process" ? this.#ofProcess : this.#ofTerm).push(part);
    }
  }

  /** Takes something over that the parts use: it is disposed after all of them have ended, the latest first. */
  own<T extends AsyncDisposable>(resource: T): T {
    return this.#owned.use(resource);
  }

  /**
   * Runs until the signal aborts, and resolves when everything has stopped. Rejects, after everything has stopped, when the probes'
   * port is taken or a part failed that may not be restarted. Call it once.
   */
  async start(options: { readonly signal: AbortSignal }): Promise<void> {
    const failed = new AbortController();
    await using stack = new AsyncDisposableStack();
    stack.use(this.#owned);
    const signal = AbortSignal.any([options.signal, failed.signal]);
    await this.#startProbes(stack, signal);
    await using election = this.#startElection(failed);
    for (const cache of this.#caches) stack.use(cache);
    for (const runnable of this.#ofProcess) this.#startOfProcess(stack, runnable, failed);
    for (const cache of this.#caches) cache.start();
    if (await this.#cachesAreFilled(signal)) await this.#serveTerms(signal, failed);
    await election.disposeAsync();
    await stack.disposeAsync();
    if (failed.signal.aborted) throw failed.signal.reason;
  }

  async #startProbes(stack: AsyncDisposableStack, signal: AbortSignal): Promise<void> {
    const { probes, metrics, onListening, connection } = this.#options;
    if (probes === undefined) return;
    // A process that waits for the lease is well; one that lost it does not write, so it is well, too.
    const healthChecks = connection?.elector === undefined ? {} : { leaderElection: () => undefined };
    const server = stack.use(
      await startProbes({ ...probes, healthChecks, readyChecks: this.#readyChecks(signal), metrics }),
    );
    onListening?.(server.port);
    this.#options.logger.info("probes and metrics answer", { port: server.port });
  }

  #readyChecks(signal: AbortSignal): Readonly<Record<string, HealthCheck>> {
    // Called as in Kubernetes' API server.
    const shutdown: HealthCheck = () => (signal.aborted ? "the process is stopping" : undefined);
    const ofCaches: HealthCheck = () =>
      this.#caches
        .filter((cache) => !cache.synced || cache.status().stale)
        .map(({ type }) => `the cache of ${type.plural} is not up to date`)
        .join(", ") || undefined;
    const ofRunnables = [...this.#ofProcess, ...this.#ofTerm]
      .filter((runnable) => runnable.problem !== undefined)
      .map((runnable) => [runnable.name, () => runnable.problem?.()] as const);
    const caches = this.#caches.length > 0 ? { caches: ofCaches } : {};
    return { shutdown, ...caches, ...Object.fromEntries(ofRunnables) };
  }

  /** The lease is given back when the stack is disposed. */
  #startElection(failed: AbortController): AsyncDisposableStack {
    const stack = new AsyncDisposableStack();
    const { connection } = this.#options;
    if (connection?.elector === undefined) return stack;
    const stop = new AbortController();
    const election = connection.elector.run({ signal: stop.signal }).catch(fail(failed));
    stack.defer(async () => {
      stop.abort(new Error("stopping"));
      await election;
    });
    return stack;
  }

  #startOfProcess(stack: AsyncDisposableStack, runnable: Runnable, failed: AbortController): void {
    const stop = new AbortController();
    const running = this.#keepRunning(runnable, stop.signal).catch(fail(failed));
    stack.defer(async () => {
      stop.abort(new Error("stopping"));
      await running;
    });
  }

  async #cachesAreFilled(signal: AbortSignal): Promise<boolean> {
    try {
      await Promise.all(this.#caches.map((cache) => cache.whenSynced({ signal })));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return false;
    if (this.#caches.length > 0) this.#options.logger.info("caches are filled");
    return true;
  }

  async #serveTerms(signal: AbortSignal, failed: AbortController): Promise<void> {
    const elector = this.#options.connection?.elector;
    while (!signal.aborted) {
      const term = elector === undefined ? signal : await leading(elector, signal);
      if (term === undefined) return;
      const both = AbortSignal.any([signal, term]);
      const runs = this.#ofTerm.map((runnable) => this.#keepRunning(runnable, both).catch(fail(failed)));
      await Promise.all([...runs, untilAborted(both)]);
    }
  }

  #keepRunning(runnable: Runnable, signal: AbortSignal): Promise<void> {
    return keepRunning(runnable, { ...this.runtime, signal });
  }
}

/** Takes note of the first failure, which ends everything. */
function fail(failed: AbortController): (error: unknown) => void {
  return (error) => failed.abort(error);
}
