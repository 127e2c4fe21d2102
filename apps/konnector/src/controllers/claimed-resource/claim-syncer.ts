/** Keeps the claimed objects of one resource (Secrets, ConfigMaps, …) in sync, by owner. One for all exports that claim it. */
import { claimedFromLabel, crdNameOf, fieldManager, resourceOwnerAnnotation } from "@klutch/api";
import { ApiError, isAlreadyExists, isNotFound } from "@klutch/kube";
import {
  type CacheLease,
  Controller,
  type Lane,
  objectsIn,
  type ReconcileContext,
  StaleCacheError,
} from "@klutch/kube-runtime";
import {
  type ClaimedStep,
  type ClaimScope,
  consumerNameOf,
  isSelected,
  type Mapping,
  plainScope,
  planClaimed,
  providerRefOf,
  type Side,
} from "@klutch/sync";
import { type DynamicObject, jsonHash, keyOf, keyOfRef, type ObjectRef, refOf } from "@klutch/kube-core";
import type { ConsumerCluster, Environment, ProviderCluster } from "../../clusters.ts";
import type { EventRecorder } from "../../events.ts";
import type { NamespaceMap } from "../service-namespace/namespace-map.ts";
import { ProviderView } from "../service-namespace/provider-view.ts";
import type { ClaimedType } from "./claimed-type.ts";
import { CopyQuota } from "./copy-quota.ts";
import { tellClaimed, tellTooMany } from "./telling-claimed.ts";

/** Which resource is claimed, and between whom. */
export interface ClaimSyncerOptions {
  readonly type: ClaimedType;
  /** Of all accepted claims on this resource; never empty. */
  readonly scopes: readonly ClaimScope[];
  readonly clusterWide: boolean;
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMap;
  /** Whether an object of the app cluster is the agent's own and stays there. */
  readonly isPrivate: (ref: ObjectRef) => boolean;
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

interface Pair {
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
  readonly consumerRef: ObjectRef;
  readonly providerRef: ObjectRef;
}

const missing: Mapping = { state: "missing" };

/** See the module comment. Runs from construction until it is disposed. */
export class ClaimSyncer implements AsyncDisposable {
  readonly #options: ClaimSyncerOptions;
  readonly #lease: CacheLease;
  readonly #view: ProviderView<DynamicObject>;
  readonly #controller: Controller;
  readonly #quota: CopyQuota;
  readonly #subscriptions = new DisposableStack();
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: ClaimSyncerOptions) {
    const { type, scopes, consumer, provider, namespaces, environment, clusterWide } = options;
    const { logger, clock, random } = environment;
    this.#options = options;
    // The agent never caches foreign Secrets: where only the provider owns, it watches nothing but its own copies.
    const isOneWay = scopes.every(
      ({ owner, autoAdopt, autoDonate }) => owner === "Provider" && !autoAdopt && !autoDonate,
    );
    const labelSelector = isOneWay ? `${claimedFromLabel}=${provider.tenant.namespaceUid}` : undefined;
    // Of other Secrets, where all must be watched, only metadata stays in memory.
    const wants = (object: DynamicObject): boolean => isCovered(scopes, object);
    const payloadOf = isOneWay ? undefined : { key: jsonHash(scopes), wants };
    this.#lease = consumer.pool.acquire({ type, labelSelector, payloadOf });
    this.#controller = new Controller({
      name: `claims ${type.plural}.${type.group}`,
      workers: "adaptive",
      logger,
      clock,
      random,
      reconcile: (key, context) => this.#reconcile(key, context),
    });
    this.#view = new ProviderView({
      open: (scope) => provider.pool.acquire(scope),
      type,
      clusterWide: clusterWide || !type.namespaced,
      namespaces,
      logger,
      onChange: ({ object }, lane) => this.#providerChanged(object, lane),
      onSynced: (namespace) => this.#enqueueAbsent(namespace),
    });
    const { informer } = this.#lease.cache;
    this.#quota = new CopyQuota(environment.timing.providerObjectsLimit);
    this.#subscriptions.use(this.#quota.watch(informer, (object) => this.#isCopy(object)));
    this.#subscriptions.use(this.#controller.watch(informer));
    this.#subscriptions.use(this.#lease.cache.onVanished((key) => this.#vanished(key)));
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

  #vanished(key: string): void {
    this.#quota.remove(key);
    this.#controller.enqueue(key);
  }

  #providerChanged(object: DynamicObject, lane: Lane): void {
    const key = this.#consumerKeyOf(object);
    if (key !== undefined) this.#controller.enqueue(key, { lane });
  }

  /** Undefined for another tenant's, and while the namespace has no counterpart. */
  #consumerKeyOf(provider: DynamicObject): string | undefined {
    return provider.metadata.namespace === undefined
      ? consumerNameOf(this.#options.provider.tenant, provider)
      : this.#options.namespaces.consumerKeyOf(provider.metadata);
  }

  #enqueueNamespace(consumerNamespace: string): void {
    for (const copy of objectsIn(this.#lease.cache, consumerNamespace))
      this.#controller.enqueue(keyOf(copy), { lane: "resync" });
  }

  /** What a filled cache does not show is absent from now on; what it shows was enqueued when it came. */
  #enqueueAbsent(consumerNamespace: string | undefined): void {
    for (const copy of objectsIn(this.#lease.cache, consumerNamespace)) {
      const key = keyOf(copy);
      const ref = this.#providerRefOf(refOf(key));
      if (ref !== undefined && this.#view.get(ref) === undefined)
        this.#controller.enqueue(key, { lane: "resync" });
    }
  }

  /** Undefined while the namespace has no counterpart. */
  #providerRefOf(consumerRef: ObjectRef): ObjectRef | undefined {
    const { namespaces, provider } = this.#options;
    const mapping = consumerRef.namespace === undefined ? missing : namespaces.mapping(consumerRef.namespace);
    return providerRefOf(provider.tenant, consumerRef, mapping);
  }

  async #reconcile(key: string, { signal }: ReconcileContext): Promise<void> {
    const wasRefused = await this.#look(key, signal);
    const next = this.#quota.next(key, wasRefused);
    if (next === "anyone") for (const object of this.#view.objects()) this.#providerChanged(object, "resync");
    else if (next !== undefined) this.#controller.enqueue(next.key, { lane: "resync" });
  }

  /** Whether there was no place for a copy. */
  async #look(key: string, signal: AbortSignal): Promise<boolean> {
    const consumerRef = refOf(key);
    const providerRef = this.#providerRefOf(consumerRef);
    if (providerRef === undefined) return false;
    const above = this.#view.get(providerRef);
    // What a cache does not show may exist until it is filled.
    if (above === undefined && !this.#view.isSynced(providerRef.namespace)) return false;
    // A cluster-scoped object without our mark is another tenant's, whatever its name says.
    const isOther =
      above !== undefined &&
      consumerRef.namespace === undefined &&
      consumerNameOf(this.#options.provider.tenant, above) === undefined;
    if (isOther) return false;
    const pair = { consumerRef, providerRef, consumer: this.#lease.cache.get(key), provider: above };
    return this.#settle(pair, signal);
  }

  async #settle(pair: Pair, signal: AbortSignal): Promise<boolean> {
    const { provider, type, namespaces, isPrivate } = this.#options;
    const { statusSubresource } = type;
    const { namespace } = pair.consumerRef;
    const scope = this.#scopeOf(pair);
    const plan = planClaimed({
      ...pair,
      scope,
      tenant: provider.tenant,
      statusSubresource,
      resource: crdNameOf({ resource: type.plural, group: type.group }),
      isOpen: namespace === undefined || namespaces.isOpen(namespace),
      isPrivate: isPrivate(pair.consumerRef),
    });
    await tellClaimed(this.#options, pair, plan);
    const { step } = plan;
    if (step === undefined) {
      if (pair.consumer === undefined) this.#quota.remove(keyOfRef(pair.consumerRef));
      return false;
    }
    if (step.do === "create" && step.on === "consumer" && !this.#quota.admit(keyOfRef(pair.consumerRef))) {
      tellTooMany(this.#options, pair.consumerRef);
      return true;
    }
    await this.#controller.timed(`${step.do} ${step.on}`, () => this.#execute(step, pair, signal));
    return false;
  }

  /** The first claim that covers the object; else the first one, which then only removes. */
  #scopeOf({ consumer, provider, consumerRef }: Pair): ClaimScope {
    const { scopes } = this.#options;
    const object = provider ?? consumer;
    return (
      scopes.find((scope) => isSelected(scope, consumerRef, object)) ?? scopes[0] ?? plainScope("Provider")
    );
  }

  async #execute(step: ClaimedStep, pair: Pair, signal: AbortSignal): Promise<void> {
    const { type, environment } = this.#options;
    switch (step.do) {
      case "create":
        await this.#create(step, pair, signal);
        break;
      case "replace":
        await this.#replace(step, signal);
        break;
      case "patch":
        await this.#patch(step.on, step.ref, withUid(step.patch, step.uid), undefined, signal);
        break;
      case "writeStatus":
        await this.#patch(step.on, step.ref, withUid({ status: step.status }, step.uid), "status", signal);
        break;
      case "delete":
        await this.#delete(step, signal);
        break;
      default:
        step satisfies never;
    }
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
      this.#wrote(step.on, await client.create(type, step.content, { fieldManager, signal }));
    } catch (error) {
      // A copy whose creation was not answered may be there.
      const isRefused = error instanceof ApiError && error.status < 500;
      if (!isAlreadyExists(error)) {
        if (step.on === "consumer" && isRefused) this.#quota.remove(keyOfRef(pair.consumerRef));
        throw error;
      }
      // The watch shows only our copies: look at what is there before deciding again.
      const ref = step.on === "consumer" ? pair.consumerRef : pair.providerRef;
      const found = await client.find<DynamicObject>(type, ref, { signal });
      // An earlier creation of ours that was not answered keeps its place.
      if (step.on === "consumer" && (found === undefined || !this.#isCopy(found)))
        this.#quota.remove(keyOfRef(pair.consumerRef));
      if (found === undefined || pair[step.on] !== undefined) throw error;
      await this.#settle({ ...pair, [step.on]: found }, signal);
    }
  }

  #isCopy({ metadata }: DynamicObject): boolean {
    return metadata.labels?.[claimedFromLabel] === this.#options.provider.tenant.namespaceUid;
  }

  async #replace(step: Extract<ClaimedStep, { do: "replace" }>, signal: AbortSignal): Promise<void> {
    const { type } = this.#options;
    const { client } = this.#clusterOf(step.on);
    const content = step.content;
    if (!step.recreate) {
      this.#wrote(step.on, await client.replace(type, content, { fieldManager, signal }));
      return;
    }
    const { uid, resourceVersion: _resourceVersion, ...metadata } = content.metadata;
    const ref = { name: metadata.name ?? "", namespace: metadata.namespace };
    await client.delete(type, ref, { preconditions: { uid }, signal });
    this.#wrote(step.on, await client.create(type, { ...content, metadata }, { fieldManager, signal }));
  }

  async #patch(
    side: Side,
    ref: ObjectRef,
    patch: object,
    subresource: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#clusterOf(side);
    const { type } = this.#options;
    try {
      const options = { fieldManager, subresource, signal };
      this.#wrote(side, await client.mergePatch<DynamicObject>(type, ref, patch, options));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #delete(step: Extract<ClaimedStep, { do: "delete" }>, signal: AbortSignal): Promise<void> {
    const { type } = this.#options;
    const { client } = this.#clusterOf(step.on);
    if (step.unlessFound !== undefined) {
      const source = this.#clusterOf(step.on === "consumer" ? "provider" : "consumer");
      if (source.side === "provider") await this.#options.confirmProvider(signal);
      const found = await source.client.find(type, step.unlessFound, { signal });
      if (found !== undefined) throw new StaleCacheError(`${type.kind} ${step.unlessFound.name}`);
    }
    await client.delete(type, step.ref, { preconditions: { uid: step.uid }, signal });
  }

  #clusterOf(side: Side): ConsumerCluster | ProviderCluster {
    return side === "consumer" ? this.#options.consumer : this.#options.provider;
  }

  #wrote(side: Side, object: DynamicObject): void {
    if (side === "consumer") this.#lease.cache.wrote(object);
    else this.#view.wrote(object);
  }
}

/** Whether the consumer's object is a copy, or one that a claim names. */
function isCovered(scopes: readonly ClaimScope[], object: DynamicObject): boolean {
  const { namespace, name = "", annotations } = object.metadata;
  if (annotations?.[resourceOwnerAnnotation] !== undefined) return true;
  return scopes.some((scope) => isSelected(scope, { namespace, name }, object));
}

/** A patch that touches just this object, not another one of the same name. */
function withUid(patch: Readonly<Record<string, unknown>>, uid: string): object {
  const metadata = typeof patch["metadata"] === "object" ? patch["metadata"] : {};
  return { ...patch, metadata: { ...metadata, uid } };
}
