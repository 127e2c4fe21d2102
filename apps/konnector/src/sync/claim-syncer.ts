/** Keeps the claimed objects of one resource (Secrets, ConfigMaps, …) in sync, by owner. One for all exports that claim it. */
import { claimedFromLabel, fieldManager } from "@klutch/api";
import { type DynamicObject, isAlreadyExists, type ObjectRef, refOf, type ResourceType } from "@klutch/kube";
import { type Change, Controller, type ReconcileContext } from "@klutch/kube-runtime";
import {
  type ClaimedStep,
  type ClaimScope,
  isSelected,
  needsRecreation,
  planClaimed,
} from "@klutch/sync";
import { byNamespace, type CacheLease } from "../cache/pool.ts";
import type { ConsumerCluster, Environment, ProviderCluster } from "../clusters.ts";
import { asDynamic } from "../decode.ts";
import { StaleCacheError } from "../errors.ts";
import type { EventRecorder } from "../events.ts";
import type { NamespaceMap } from "../session/namespace-map.ts";
import { ProviderView } from "../session/provider-view.ts";

/** Which resource is claimed, and between whom. */
export interface ClaimSyncerOptions {
  readonly type: ResourceType;
  /** Of all accepted claims on this resource; never empty. */
  readonly scopes: readonly ClaimScope[];
  readonly clusterWide: boolean;
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMap;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

interface Pair {
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
  readonly consumerRef: ObjectRef;
  readonly providerRef: ObjectRef;
}

const everything: ClaimScope = { owner: "Provider", names: [], namespaces: [], labelSelectors: [] };

/** See the module comment. Runs from construction until it is disposed. */
export class ClaimSyncer implements AsyncDisposable {
  readonly #options: ClaimSyncerOptions;
  readonly #lease: CacheLease;
  readonly #view: ProviderView;
  readonly #controller: Controller;
  readonly #subscriptions = new DisposableStack();
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: ClaimSyncerOptions) {
    const { type, scopes, consumer, provider, namespaces, environment, clusterWide } = options;
    const { logger, clock, random } = environment;
    this.#options = options;
    // The agent never caches foreign Secrets: where only the provider owns, it watches nothing but its own copies.
    const isOneWay = scopes.every(({ owner }) => owner === "Provider");
    const labelSelector = isOneWay ? `${claimedFromLabel}=${provider.tenant.namespaceUid}` : undefined;
    this.#lease = consumer.pool.acquire({ type, labelSelector });
    this.#controller = new Controller({
      name: `claims ${type.plural}.${type.group}`,
      logger,
      clock,
      random,
      reconcile: (key, context) => this.#reconcile(key, context),
    });
    this.#view = new ProviderView({
      provider,
      type,
      clusterWide,
      namespaces,
      logger,
      onChange: (change) => this.#providerChanged(change),
      onSynced: (namespace) => this.#enqueueNamespace(namespace),
    });
    const { informer } = this.#lease.cache;
    this.#subscriptions.use(this.#controller.watch(informer));
    this.#subscriptions.use(namespaces.onChange((namespace) => this.#enqueueNamespace(namespace)));
    this.#running = this.#run(this.#abort.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the claim was withdrawn"));
    this.#subscriptions.dispose();
    await this.#running;
    await this.#view[Symbol.asyncDispose]();
    await this.#lease[Symbol.asyncDispose]();
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      await this.#lease.cache.informer.whenSynced({ signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    await this.#controller.start({ signal });
  }

  #providerChanged({ object }: Change<DynamicObject>): void {
    const { namespace = "", name = "" } = object.metadata;
    const consumerNamespace = this.#options.namespaces.consumerNamespaceOf(namespace);
    if (consumerNamespace !== undefined) this.#controller.enqueue(`${consumerNamespace}/${name}`);
  }

  #enqueueNamespace(consumerNamespace: string | undefined): void {
    const { informer } = this.#lease.cache;
    const objects =
      consumerNamespace === undefined ? informer.list() : informer.byIndex(byNamespace, consumerNamespace);
    for (const { metadata } of objects) {
      this.#controller.enqueue(`${metadata.namespace ?? ""}/${metadata.name ?? ""}`, { lane: "resync" });
    }
  }

  async #reconcile(key: string, { signal }: ReconcileContext): Promise<void> {
    const consumerRef = refOf(key);
    const mapping = this.#options.namespaces.mapping(consumerRef.namespace ?? "");
    if (mapping.state !== "ready" || !this.#view.isSynced(mapping.providerNamespace)) return;
    const providerRef = { namespace: mapping.providerNamespace, name: consumerRef.name };
    await this.#settle(
      {
        consumerRef,
        providerRef,
        consumer: this.#lease.cache.get(key),
        provider: this.#view.get(providerRef),
      },
      signal,
    );
  }

  async #settle(pair: Pair, signal: AbortSignal): Promise<void> {
    const scope = this.#scopeOf(pair);
    const plan = planClaimed({ ...pair, scope, tenantUid: this.#options.provider.tenant.namespaceUid });
    if (plan.conflict === true && pair.consumer !== undefined) {
      await this.#options.events.tell(
        pair.consumer,
        "Warning",
        "NameTaken",
        "the provider has an object of this name for you, but this one is your own; it was left alone. Rename or delete yours to get it.",
      );
    }
    if (plan.step !== undefined) await this.#execute(plan.step, pair, signal);
  }

  /** The first claim that covers the object; else the first one, which then only removes. */
  #scopeOf({ consumer, provider, consumerRef }: Pair): ClaimScope {
    const { scopes } = this.#options;
    const labels = (provider ?? consumer)?.metadata.labels;
    return scopes.find((scope) => isSelected(scope, consumerRef, labels)) ?? scopes[0] ?? everything;
  }

  async #execute(step: ClaimedStep, pair: Pair, signal: AbortSignal): Promise<void> {
    const { type, environment } = this.#options;
    if (step.do === "create") await this.#create(step, pair, signal);
    else if (step.do === "replace") await this.#replace(step, pair, signal);
    else await this.#delete(step, signal);
    environment.metrics.writes.inc({ resource: type.plural, step: `claimed-${step.do}` });
  }

  async #create(
    step: Extract<ClaimedStep, { do: "create" }>,
    pair: Pair,
    signal: AbortSignal,
  ): Promise<void> {
    const { type } = this.#options;
    const { client } = this.#clusterOf(step.on);
    try {
      this.#wrote(step.on, await client.create(type, asDynamic(step.content), { fieldManager, signal }));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // The watch shows only our copies: look at what is there before deciding again.
      const ref = step.on === "consumer" ? pair.consumerRef : pair.providerRef;
      const found = await client.find<DynamicObject>(type, ref, { signal });
      if (found === undefined || pair[step.on] !== undefined) throw error;
      await this.#settle({ ...pair, [step.on]: found }, signal);
    }
  }

  async #replace(
    step: Extract<ClaimedStep, { do: "replace" }>,
    pair: Pair,
    signal: AbortSignal,
  ): Promise<void> {
    const { type } = this.#options;
    const { client } = this.#clusterOf(step.on);
    const copy = pair[step.on];
    const content = asDynamic(step.content);
    if (copy === undefined || !needsRecreation(copy, content)) {
      this.#wrote(step.on, await client.replace(type, content, { fieldManager, signal }));
      return;
    }
    const { uid, resourceVersion: _resourceVersion, ...metadata } = content.metadata;
    const ref = { name: metadata.name ?? "", namespace: metadata.namespace };
    await client.delete(type, ref, { preconditions: { uid }, signal });
    this.#wrote(step.on, await client.create(type, { ...content, metadata }, { fieldManager, signal }));
  }

  async #delete(step: Extract<ClaimedStep, { do: "delete" }>, signal: AbortSignal): Promise<void> {
    const { type } = this.#options;
    const { client } = this.#clusterOf(step.on);
    if (step.unlessFound !== undefined) {
      const source = this.#clusterOf(step.on === "consumer" ? "provider" : "consumer");
      const found = await source.client.find(type, step.unlessFound, { signal });
      if (found !== undefined) throw new StaleCacheError(`${type.kind} ${step.unlessFound.name}`);
    }
    await client.delete(type, step.ref, { preconditions: { uid: step.uid }, signal });
  }

  #clusterOf(side: "consumer" | "provider"): ConsumerCluster | ProviderCluster {
    return side === "consumer" ? this.#options.consumer : this.#options.provider;
  }

  #wrote(side: "consumer" | "provider", object: DynamicObject): void {
    if (side === "consumer") this.#lease.cache.wrote(object);
    else this.#view.wrote(object);
  }
}
