/** The Secret of the provider in which the account of this app cluster lies; the ClusterBinding names it, and may name another one. */
import { secrets } from "@klutch/kube-core";
import type { Controller, InformerHandle, ReadYourWritesCache } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import type { ProviderCluster } from "../../clusters.ts";
import { wakeReasons } from "../../wake-reasons.ts";

interface Watched {
  readonly name: string;
  readonly handle: InformerHandle;
  readonly subscription: Disposable;
}

/** One watch at a time; a change enqueues `key`. */
export class ProviderSecretWatch implements AsyncDisposable {
  readonly #provider: ProviderCluster;
  readonly #controller: Controller;
  readonly #key: string;
  readonly #logger: Logger;
  #watched: Watched | undefined;

  constructor(provider: ProviderCluster, controller: Controller, key: string, logger: Logger) {
    this.#provider = provider;
    this.#controller = controller;
    this.#key = key;
    this.#logger = logger;
  }

  /** The cache with just this Secret; it may not be filled yet, and the key is enqueued when it is. */
  async open(name: string): Promise<ReadYourWritesCache> {
    if (this.#watched?.name === name) return this.#watched.handle.cache;
    await this[Symbol.asyncDispose]();
    const { tenant, pool } = this.#provider;
    const fieldSelector = `metadata.name=${name}`;
    const handle = pool.acquire({ type: secrets, namespace: tenant.namespace, fieldSelector });
    const subscription = this.#controller.watch(handle.cache.informer, () => [this.#key]);
    this.#watched = { name, handle, subscription };
    handle.cache.informer.whenSynced().then(
      () => this.#controller.enqueue(this.#key, { reason: wakeReasons.cacheFilled }),
      (error: unknown) => this.#logger.debug("stopped waiting for the provider's Secret", { error }),
    );
    return handle.cache;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const watched = this.#watched;
    this.#watched = undefined;
    watched?.subscription[Symbol.dispose]();
    await watched?.handle[Symbol.asyncDispose]();
  }
}
