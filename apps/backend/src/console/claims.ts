/** Watches the claims of bound kinds for the console, with the little of each that its row needs. */
import type { KubeClient } from "@klutch/kube";
import { jsonEqual, type ResourceType } from "@klutch/kube-core";
import { Informer, type Runnable, untilAborted } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { claimFacts, type ClaimFacts } from "@klutch/overview";
import { boundKinds } from "../causes/kinds.ts";
import type { Caches } from "../controller-context.ts";

/** Claims of one kind. */
export interface ClaimCache {
  readonly type: ResourceType;
  readonly claims: Pick<Informer<ClaimFacts>, "get" | "list" | "synced">;
}

/** Runs in each replica that serves the console. */
export class ConsoleClaims implements Runnable {
  readonly name = "console-claims";
  readonly runs = "process";
  readonly #client: KubeClient;
  readonly #caches: Pick<Caches, "crds" | "exports">;
  readonly #logger: Logger;
  readonly #onChange = new Set<() => void>();
  readonly #watched = new Map<
    string,
    { readonly type: ResourceType; readonly claims: Informer<ClaimFacts> }
  >();

  constructor(parts: {
    readonly client: KubeClient;
    readonly caches: Pick<Caches, "crds" | "exports">;
    readonly logger: Logger;
  }) {
    this.#client = parts.client;
    this.#caches = parts.caches;
    this.#logger = parts.logger;
  }

  /** Calls `handler` after each change of any claim. */
  onChange(handler: () => void): void {
    this.#onChange.add(handler);
  }

  /** Gives the caches by `<plural>.<group>`. */
  get caches(): ReadonlyMap<string, ClaimCache> {
    return this.#watched;
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { crds, exports } = this.#caches;
    let isDue = false;
    const adjust = (): void => {
      if (isDue) return;
      isDue = true;
      queueMicrotask(() => {
        isDue = false;
        if (!signal.aborted) this.#adjust(signal);
      });
    };
    using _one = crds.onChange(adjust);
    using _two = exports.onChange(adjust);
    adjust();
    await untilAborted(signal);
    await Promise.all([...this.#watched.keys()].map((name) => this.#end(name)));
  }

  #adjust(signal: AbortSignal): void {
    const wanted = boundKinds(this.#caches.exports.list(), this.#caches.crds);
    for (const [name, { type }] of this.#watched)
      if (!jsonEqual(wanted.get(name), type)) void this.#end(name);
    for (const [name, type] of wanted) if (!this.#watched.has(name)) this.#begin(name, type, signal);
  }

  #begin(name: string, type: ResourceType, signal: AbortSignal): void {
    const claims = new Informer<ClaimFacts>({
      client: this.#client,
      logger: this.#logger,
      type,
      transform: claimFacts,
    });
    claims.onChange(() => this.#changed());
    this.#watched.set(name, { type, claims });
    claims.start({ signal });
  }

  async #end(name: string): Promise<void> {
    const watched = this.#watched.get(name);
    this.#watched.delete(name);
    this.#changed();
    await watched?.claims[Symbol.asyncDispose]();
  }

  #changed(): void {
    for (const handler of this.#onChange) handler();
  }
}
