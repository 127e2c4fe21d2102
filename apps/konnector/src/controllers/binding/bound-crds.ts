/** The CRDs of bound APIs in the app cluster. Each has a small watch of its own: schemas of others are large and none of our business. */
import { customResourceDefinitions } from "@klutch/kube-core";
import type { Controller, InformerHandle, ReadYourWritesCache } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import type { ClusterCaches } from "../../digests.ts";
import { wakeReasons } from "../../wake-reasons.ts";

/** Watches that are open, by API name; a change of a CRD enqueues its name. */
export class BoundCrds implements AsyncDisposable {
  readonly #consumer: ClusterCaches;
  readonly #controller: Controller;
  readonly #logger: Logger;
  readonly #open = new Map<string, { readonly handle: InformerHandle; readonly subscription: Disposable }>();

  constructor(consumer: ClusterCaches, controller: Controller, logger: Logger) {
    this.#consumer = consumer;
    this.#controller = controller;
    this.#logger = logger;
  }

  /** The cache with just this CRD, opened if it is not; it may not be filled yet, and the name is enqueued when it is. */
  open(name: string): ReadYourWritesCache {
    const open = this.#open.get(name);
    if (open !== undefined) return open.handle.cache;
    const fieldSelector = `metadata.name=${name}`;
    const handle = this.#consumer.acquire({ type: customResourceDefinitions, fieldSelector });
    const subscription = this.#controller.watch(handle.cache.informer);
    this.#open.set(name, { handle, subscription });
    handle.cache.informer.whenSynced().then(
      () => this.#controller.enqueue(name, { reason: wakeReasons.cacheFilled }),
      (error: unknown) => this.#logger.debug("a CRD watch was closed", { name, error }),
    );
    return handle.cache;
  }

  async close(name: string): Promise<void> {
    const open = this.#open.get(name);
    if (open === undefined) return;
    this.#open.delete(name);
    open.subscription[Symbol.dispose]();
    await open.handle[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.keys()].map((name) => this.close(name)));
  }
}
