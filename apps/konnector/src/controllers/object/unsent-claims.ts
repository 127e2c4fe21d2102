/**
 * Says on new and edited claims why no one has seen them while the provider has not been reached since the konnector started: the controllers
 * that sync them need its exports. Claims whose spec was seen stay as they are, so that an outage does not write to all of them.
 */
import {
  customResourceDefinitions,
  type DynamicObject,
  isDeleting,
  isOwnedBy,
  jsonEqual,
  keyOf,
  refOf,
} from "@klutch/kube-core";
import type { Controller, InformerHandle, ReadYourWritesCache, ReconcileContext } from "@klutch/kube-runtime";
import { readLive } from "@klutch/kube-runtime";
import { localType, projectStatus, saysUnseen, type SyncedType } from "@klutch/sync";
import type { ConsumerCluster, RuntimeDependencies } from "../../clusters.ts";
import { createController } from "../../controller.ts";
import { type BoundDigest, consumerDigests } from "../../digests.ts";
import type { Part } from "../../lifecycle.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import { writeStatus } from "./execute.ts";

/** Options of the part. */
export interface UnsentClaimsOptions {
  readonly consumer: ConsumerCluster;
  /** Bindings to all providers. */
  readonly bindings: ReadYourWritesCache;
  /** As in `ProviderParts`. */
  readonly away: () => string | undefined;
  readonly runtime: RuntimeDependencies;
}

interface OpenApi {
  readonly synced: SyncedType;
  readonly handle: InformerHandle<BoundDigest>;
  readonly subscription: Disposable;
}

/** Keys are `api` for the API itself, and `api/namespace/name` or `api/name` for its claims; a name of an API has no slash. */
export class UnsentClaims implements Part {
  readonly #options: UnsentClaimsOptions;
  readonly #controller: Controller;
  /** Keys of bindings by API name. */
  #bindingKeys: ReadonlyMap<string, string> = new Map();
  readonly #open = new Map<string, OpenApi>();

  constructor(options: UnsentClaimsOptions) {
    this.#options = options;
    this.#controller = createController(options.runtime, "unsent-claims", (key, call) =>
      this.#reconcile(key, call),
    );
  }

  /** The bindings to this provider, as keys `namespace/name`; a binding has the name of its API. */
  setBindings(keys: readonly string[]): void {
    this.#bindingKeys = new Map(keys.map((key) => [refOf(key).name, key]));
    for (const api of this.#bindingKeys.keys())
      this.#controller.enqueue(api, { reason: wakeReasons.bindingsChanged });
  }

  /** The words have changed. */
  said(): void {
    for (const [api, { handle }] of this.#open)
      for (const claim of handle.cache.informer.list()) this.#enqueue(api, claim);
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.#controller.start({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#open.values()].map(async ({ handle, subscription }) => {
        subscription[Symbol.dispose]();
        await handle[Symbol.asyncDispose]();
      }),
    );
    this.#open.clear();
  }

  /** Only those that may be unseen, by their digest. */
  #enqueue(api: string, claim: BoundDigest): void {
    if (!isDeleting(claim) && saysUnseen(claim.status))
      this.#controller.enqueue(`${api}/${keyOf(claim)}`, { reason: wakeReasons.consumerChanged });
  }

  async #reconcile(key: string, call: ReconcileContext): Promise<undefined> {
    const slash = key.indexOf("/");
    if (slash < 0) await this.#openApi(key, call.signal);
    else await this.#say(key.slice(0, slash), key.slice(slash + 1), call.signal);
  }

  async #openApi(api: string, signal: AbortSignal): Promise<void> {
    const { consumer, bindings } = this.#options;
    if (this.#open.has(api)) return;
    const binding = bindings.get(this.#bindingKeys.get(api) ?? "");
    if (binding === undefined || isDeleting(binding)) return;
    const crd = await consumer.client.find<DynamicObject>(
      customResourceDefinitions,
      { name: api },
      { signal },
    );
    const synced = crd !== undefined && isOwnedBy(crd, binding.metadata.uid) ? localType(crd) : undefined;
    if (synced === undefined) return;
    const handle = consumer.pool.acquireDigested({ type: synced.type }, consumerDigests(synced.view));
    const { informer } = handle.cache;
    const subscription = informer.onChange((change) => {
      if (change.type !== "deleted") this.#enqueue(api, change.object);
    });
    this.#open.set(api, { synced, handle, subscription });
    for (const claim of informer.list()) this.#enqueue(api, claim);
  }

  async #say(api: string, key: string, signal: AbortSignal): Promise<void> {
    const { consumer, away, runtime } = this.#options;
    const open = this.#open.get(api);
    const notSent = away();
    const kept = open?.handle.cache.get(key);
    if (open === undefined || kept === undefined || notSent === undefined) return;
    if (isDeleting(kept) || !saysUnseen(kept.status)) return;
    const { type, view } = open.synced;
    const { cache } = open.handle;
    const ref = refOf(key);
    const claim =
      kept.payload.read() ?? (await readLive({ client: consumer.client, type, ref, kept, cache }, signal));
    const status = projectStatus({ view, claim, provider: undefined, notSent, now: runtime.clock.now() });
    if (status === undefined || jsonEqual(status, claim.status)) return;
    const step = { do: "writeStatus", ref, uid: claim.metadata.uid ?? "", status } as const;
    await writeStatus({ bound: { consumer, ...open.synced }, caches: { claims: cache } }, step, signal);
  }
}
