/** Keeps a broker's catalog in memory. Callers that need it at the same time share one request. */
import type { Clock } from "@klutch/kube";
import type { Catalog } from "@klutch/osb";

interface Flight {
  readonly catalog: Promise<Catalog>;
  readonly stop: AbortController;
  waiting: number;
}

const maxAgeMs = 60_000;

/** The catalog of one broker; fetched again after a minute. */
export class CachedCatalog {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #fetch: (options: { readonly signal: AbortSignal }) => Promise<Catalog>;
  #cached: { readonly at: number; readonly catalog: Catalog } | undefined;
  #flight: Flight | undefined;

  constructor(
    clock: Pick<Clock, "monotonic">,
    fetch: (options: { readonly signal: AbortSignal }) => Promise<Catalog>,
  ) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /** Throws what the fetch threw, or the reason of the signal. The request goes on as long as somebody waits for it. */
  async get({ signal }: { readonly signal: AbortSignal }): Promise<Catalog> {
    const cached = this.#cached;
    if (cached !== undefined && this.#clock.monotonic() - cached.at <= maxAgeMs) return cached.catalog;
    signal.throwIfAborted();
    const flight = (this.#flight ??= this.#start());
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener("abort", giveUp);
    flight.waiting++;
    try {
      return await Promise.race([flight.catalog, aborted]);
    } finally {
      signal.removeEventListener("abort", giveUp);
      flight.waiting--;
      if (flight.waiting === 0) this.#end(flight);
    }
  }

  #start(): Flight {
    const at = this.#clock.monotonic();
    const stop = new AbortController();
    const catalog = this.#fetch({ signal: stop.signal });
    const flight: Flight = { catalog, stop, waiting: 0 };
    catalog.then(
      (fetched) => {
        this.#cached = { at, catalog: fetched };
        this.#end(flight);
      },
      () => this.#end(flight),
    );
    return flight;
  }

  #end(flight: Flight): void {
    if (this.#flight === flight) this.#flight = undefined;
    flight.stop.abort(new Error("no one waits for the catalog any more"));
  }
}
