/**
 * Keeps the objects of one claimed resource (Secrets, ConfigMaps, …) equal on both sides, by owner; one reconciler for all exports that
 * claim it. A key is the object's name in the app cluster.
 */
import { claimedFromLabel, crdNameOf, resourceOwnerAnnotation, watchedNames } from "@klutch/api";
import { ApiError } from "@klutch/kube";
import { type DynamicObject, jsonHash, keyOf, keyOfRef, type ObjectRef, refOf } from "@klutch/kube-core";
import {
  type Controller,
  type Priority,
  type ReconcileResult,
  StaleCacheError,
  type WakeReason,
} from "@klutch/kube-runtime";
import {
  type ClaimedPlan,
  type ClaimedStep,
  type CompiledPermissionClaim,
  consumerNameOf,
  isSelected,
  type Mapping,
  planClaimed,
  providerRefOf,
  unrestrictedClaim,
} from "@klutch/sync";
import { createController } from "../../controller.ts";
import { isFilled, type Part } from "../../lifecycle.ts";
import { followSource } from "../../traces.ts";
import { wakeReasons } from "../../wake-reasons.ts";
import { MultiNamespaceInformer } from "../service-namespace/multi-namespace-informer.ts";
import type { ProviderParts } from "../service-namespace/provider-parts.ts";
import type { ClaimedType } from "./claimed-type.ts";
import { ConsumerObjects } from "./consumer-objects.ts";
import { CopyQuota } from "./copy-quota.ts";
import { type ClaimedEvents, recordRefusal, recordTooMany } from "./events.ts";
import { type ClaimedExecution, executeClaimed } from "./execute.ts";
import type { SecretCauses } from "./secret-causes.ts";
import type { TakenNames } from "./taken-names.ts";

/** Names the claimed resource, and what its parts share. */
export interface ClaimedResourceOptions extends ProviderParts {
  readonly type: ClaimedType;
  /** All accepted claims on this resource; never empty. */
  readonly permissionClaims: readonly CompiledPermissionClaim[];
  /** One watch on the provider instead of one for each service namespace. */
  readonly clusterWide: boolean;
  /** Returns true for the agent's own objects, which stay in the app cluster. */
  readonly isPrivate: (ref: ObjectRef) => boolean;
  /** Learns which names are taken. */
  readonly taken: TakenNames;
  /** Undefined for a resource that no claim names. */
  readonly causes: SecretCauses | undefined;
}

/** One object on both sides, as the caches or a live read show it. */
interface ObservedPair {
  readonly consumer: DynamicObject | undefined;
  readonly provider: DynamicObject | undefined;
  readonly consumerRef: ObjectRef;
  readonly providerRef: ObjectRef;
}

const missing: Mapping = { state: "missing" };
/** Between two looks at different names, on average, when many are taken. */
const takenSpacingMs = 100;

/** observe → plan → execute for each key; who waits for a place in a namespace comes after. */
export class ClaimedResourceReconciler implements Part {
  readonly #options: ClaimedResourceOptions;
  readonly #consumer: ConsumerObjects;
  readonly #providerInformer: MultiNamespaceInformer<DynamicObject>;
  readonly #controller: Controller;
  readonly #quota: CopyQuota;
  readonly #events: ClaimedEvents;
  readonly #execution: ClaimedExecution;
  readonly #subscriptions = new DisposableStack();

  constructor(options: ClaimedResourceOptions) {
    const { type, consumer, provider, namespaces, runtime, clusterWide } = options;
    const { logger, metrics, timing } = runtime;
    this.#options = options;
    this.#controller = createController(
      runtime,
      `claimed-resource ${crdNameOf({ resource: type.plural, group: type.group })}`,
      (key, { signal }) => this.#reconcile(key, signal),
      "adaptive",
      type.kind,
    );
    this.#consumer = openConsumerObjects(options);
    this.#providerInformer = new MultiNamespaceInformer({
      open: (permissionClaim) => provider.pool.acquire(permissionClaim),
      type,
      clusterWide: clusterWide || !type.namespaced,
      namespaces,
      logger,
      onChange: ({ object }, priority, reason) => this.#enqueueFor(object, priority, reason),
      onSynced: (namespace) => this.#enqueueAbsent(namespace),
    });
    this.#quota = new CopyQuota(timing.providerObjectsLimit);
    this.#events = { type, recorder: options.events, refusals: metrics.refusals };
    this.#execution = {
      type,
      clients: { consumer: consumer.client, provider: provider.client },
      confirmProvider: options.confirmProvider,
      onAnswer: (side, object) =>
        side === "consumer" ? this.#consumer.wrote(object) : this.#providerInformer.wrote(object),
    };
    this.#subscribe();
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await Promise.all(this.#consumer.caches.map(({ informer }) => isFilled(informer, signal)));
    this.#enqueueTaken(undefined);
    await this.#controller.start({ signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions.dispose();
    await this.#providerInformer[Symbol.asyncDispose]();
    await this.#consumer[Symbol.asyncDispose]();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const observed = await this.#withTaken(this.#observe(key), signal);
    const isWaiting = observed !== undefined && (await this.#carryOut(observed, signal)) === "noPlace";
    const next = this.#quota.next(key, isWaiting);
    if (next === "anyone")
      for (const object of this.#providerInformer.objects())
        this.#enqueueFor(object, "low", wakeReasons.quotaFreed);
    else if (next !== undefined)
      this.#controller.enqueue(next.key, { priority: "low", reason: wakeReasons.quotaFreed });
    return this.#lookAgain(key);
  }

  /** Asks for another look at a name that is taken by an object which no watch shows; of many, each less often. */
  #lookAgain(key: string): ReconcileResult | undefined {
    const { taken, runtime } = this.#options;
    if (taken.state(key) !== "taken" || this.#consumer.get(key) !== undefined) return undefined;
    const requeueAfterMs = Math.max(runtime.timing.takenRetryMs, taken.count * takenSpacingMs);
    return { requeueAfterMs, reason: wakeReasons.nameTaken };
  }

  /** The pair with the object that takes the name, read live: the watch shows only our copies. */
  async #withTaken(pair: ObservedPair | undefined, signal: AbortSignal): Promise<ObservedPair | undefined> {
    const { type, taken, consumer } = this.#options;
    if (pair?.provider === undefined || pair.consumer !== undefined) return pair;
    if (taken.state(keyOfRef(pair.consumerRef)) !== "taken") return pair;
    return {
      ...pair,
      consumer: await consumer.client.find<DynamicObject>(type, pair.consumerRef, { signal }),
    };
  }

  /** Returns the pair; undefined while nothing can be decided, and for objects that are not ours. */
  #observe(key: string): ObservedPair | undefined {
    const consumerRef = refOf(key);
    const providerRef = this.#providerRefOf(consumerRef);
    if (providerRef === undefined) return undefined;
    const provider = this.#providerInformer.get(providerRef);
    // What a cache does not show may exist until it is filled.
    if (provider === undefined && !this.#providerInformer.isSynced(providerRef.namespace)) return undefined;
    // A cluster-scoped object without our mark is another tenant's, whatever its name says.
    const isOther =
      provider !== undefined &&
      consumerRef.namespace === undefined &&
      consumerNameOf(this.#options.provider.tenant, provider) === undefined;
    if (isOther) return undefined;
    return { consumerRef, providerRef, consumer: this.#consumer.get(key), provider };
  }

  #plan(pair: ObservedPair): ClaimedPlan {
    const { provider, type, namespaces, isPrivate } = this.#options;
    const { namespace } = pair.consumerRef;
    return planClaimed({
      ...pair,
      permissionClaim: this.#permissionClaimOf(pair),
      tenant: provider.tenant,
      statusSubresource: type.statusSubresource,
      resource: crdNameOf({ resource: type.plural, group: type.group }),
      isOpen: namespace === undefined || namespaces.isOpen(namespace),
      isPrivate: isPrivate(pair.consumerRef),
    });
  }

  async #carryOut(pair: ObservedPair, signal: AbortSignal): Promise<"done" | "noPlace"> {
    const plan = this.#plan(pair);
    const { step, conflict, refusedType } = plan;
    const consumerKey = keyOfRef(pair.consumerRef);
    const { taken } = this.#options;
    if (conflict !== true || taken.state(consumerKey) !== "taken")
      await recordRefusal(this.#events, pair, plan);
    // Free only when nothing is left to be done here: a creation may find an object in its way.
    if (conflict === true) taken.decide(consumerKey, "taken");
    else if (refusedType !== undefined) taken.decide(consumerKey, "typeRefused");
    else if (step === undefined) taken.decide(consumerKey, "free");
    if (step === undefined) {
      if (pair.consumer === undefined) this.#quota.remove(consumerKey);
      return "done";
    }
    const isCopy = step.do === "create" && step.on === "consumer";
    if (isCopy && !this.#quota.admit(consumerKey)) {
      taken.decide(consumerKey, "tooMany");
      recordTooMany(this.#events, pair.consumerRef, this.#options.runtime.timing.providerObjectsLimit);
      return "noPlace";
    }
    const source = step.on === "consumer" ? pair.provider : pair.consumer;
    followSource(source, () => this.#options.causes?.of(pair.consumerRef, source?.metadata) ?? []);
    const outcome = await this.#execute(step, isCopy ? consumerKey : undefined, signal);
    if (outcome === "done") {
      taken.decide(consumerKey, "free");
      return "done";
    }
    return this.#carryOut(await this.#withExisting(step, pair, signal), signal);
  }

  /** `place` is what was taken for the object that is created. */
  async #execute(
    step: ClaimedStep,
    place: string | undefined,
    signal: AbortSignal,
  ): Promise<"done" | "exists"> {
    const { type, runtime } = this.#options;
    try {
      const outcome = await this.#controller.observeLatency(`${step.do} ${step.on}`, () =>
        executeClaimed(this.#execution, step, signal),
      );
      if (outcome === "done")
        runtime.metrics.writes.labels({ resource: type.plural, step: `claimed-${step.do}` }).inc();
      return outcome;
    } catch (error) {
      // A copy whose creation was not answered may be there.
      if (place !== undefined && error instanceof ApiError && error.status < 500) this.#quota.remove(place);
      throw error;
    }
  }

  /** Reads the object that is in the way, before it is decided again: the watch shows only our copies. */
  async #withExisting(step: ClaimedStep, pair: ObservedPair, signal: AbortSignal): Promise<ObservedPair> {
    const { type } = this.#options;
    const ref = step.on === "consumer" ? pair.consumerRef : pair.providerRef;
    const found = await this.#execution.clients[step.on].find<DynamicObject>(type, ref, { signal });
    // An earlier creation of ours that was not answered keeps its place.
    const isOurs = found !== undefined && this.#isCopy(found);
    if (step.on === "consumer" && !isOurs) this.#quota.remove(keyOfRef(ref));
    // A list that is under way may not have it any more, and no event says that it went.
    if (step.on === "consumer" && isOurs) this.#execution.onAnswer(step.on, found);
    if (found === undefined || pair[step.on] !== undefined)
      throw new StaleCacheError(`${type.kind} ${keyOfRef(ref)}`);
    return { ...pair, [step.on]: found };
  }

  /** The first claim that covers the object; else the first one, which then only removes. */
  #permissionClaimOf({ consumer, provider, consumerRef }: ObservedPair): CompiledPermissionClaim {
    const { permissionClaims } = this.#options;
    const object = provider ?? consumer;
    return (
      permissionClaims.find((permissionClaim) => isSelected(permissionClaim, consumerRef, object)) ??
      permissionClaims[0] ??
      unrestrictedClaim("Provider")
    );
  }

  #isCopy({ metadata }: DynamicObject): boolean {
    return metadata.labels?.[claimedFromLabel] === this.#options.provider.tenant.namespaceUid;
  }

  #subscribe(): void {
    for (const cache of this.#consumer.caches) {
      this.#subscriptions.use(this.#quota.watch(cache.informer, (object) => this.#isCopy(object)));
      this.#subscriptions.use(this.#controller.watch(cache.informer));
      this.#subscriptions.use(
        cache.onMissedDelete((key) => {
          this.#quota.remove(key);
          this.#controller.enqueue(key, { reason: wakeReasons.consumerVanished });
        }),
      );
    }
    this.#subscriptions.use(
      this.#options.taken.onAsk((key) => this.#controller.enqueue(key, { reason: wakeReasons.nameTaken })),
    );
    this.#subscriptions.use(
      this.#options.namespaces.onChange((namespace) => {
        for (const copy of this.#consumer.in(namespace))
          this.#controller.enqueue(keyOf(copy), { priority: "low", reason: wakeReasons.namespaceMapped });
      }),
    );
  }

  /** Enqueues the copy of a provider's object; ignores another tenant's object, or one whose namespace has no counterpart. */
  #enqueueFor(provider: DynamicObject, priority: Priority, reason: WakeReason): void {
    const key =
      provider.metadata.namespace === undefined
        ? consumerNameOf(this.#options.provider.tenant, provider)
        : this.#options.namespaces.consumerKeyOf(provider.metadata);
    if (key !== undefined) this.#controller.enqueue(key, { priority, reason });
  }

  /** Enqueues the copies whose source a filled cache lacks: it is absent from now on. The others were enqueued by their events. */
  #enqueueAbsent(consumerNamespace: string | undefined): void {
    for (const copy of this.#consumer.in(consumerNamespace)) {
      const key = keyOf(copy);
      const ref = this.#providerRefOf(refOf(key));
      if (ref !== undefined && this.#providerInformer.get(ref) === undefined)
        this.#controller.enqueue(key, { priority: "low", reason: wakeReasons.providerAbsent });
    }
    this.#enqueueTaken(consumerNamespace);
  }

  /** Enqueues the names that somebody wants to know about. */
  #enqueueTaken(consumerNamespace: string | undefined): void {
    for (const key of this.#options.taken.keys())
      if (consumerNamespace === undefined || refOf(key).namespace === consumerNamespace)
        this.#controller.enqueue(key, { priority: "low", reason: wakeReasons.nameTaken });
  }

  /** Undefined while the namespace has no counterpart. */
  #providerRefOf(consumerRef: ObjectRef): ObjectRef | undefined {
    const { namespaces, provider } = this.#options;
    const mapping = consumerRef.namespace === undefined ? missing : namespaces.mapping(consumerRef.namespace);
    return providerRefOf(provider.tenant, consumerRef, mapping);
  }
}

/** Foreign Secrets are never cached where only the provider owns: just its own copies are watched then. */
function openConsumerObjects({
  type,
  permissionClaims,
  consumer,
  provider,
}: ClaimedResourceOptions): ConsumerObjects {
  const isOneWay = permissionClaims.every(
    ({ owner, autoAdopt, autoDonate }) => owner === "Provider" && !autoAdopt && !autoDonate,
  );
  const labelSelector = isOneWay ? `${claimedFromLabel}=${provider.tenant.namespaceUid}` : undefined;
  // Of other Secrets, where all must be watched, only metadata stays in memory.
  const wants = (object: DynamicObject): boolean => isCovered(permissionClaims, object);
  const payloadOf = isOneWay ? undefined : { key: jsonHash(permissionClaims), wants };
  const named = permissionClaims.map(watchedNames);
  const names = named.flatMap((list) => list ?? []);
  return new ConsumerObjects(
    (fieldSelector) => consumer.pool.acquire({ type, labelSelector, fieldSelector, payloadOf }),
    named.includes(undefined) ? undefined : [...new Set(names)],
  );
}

/** Returns true if the consumer's object is a copy, or one that a claim names. */
function isCovered(permissionClaims: readonly CompiledPermissionClaim[], object: DynamicObject): boolean {
  const { namespace, name = "", annotations } = object.metadata;
  if (annotations?.[resourceOwnerAnnotation] !== undefined) return true;
  return permissionClaims.some((permissionClaim) => isSelected(permissionClaim, { namespace, name }, object));
}
