/** The APIs of one session: export → CRD → syncers, one reconcile for each API by name (`<plural>.<group>`). */
import {
  alarmCondition,
  type APIServiceExport,
  customResourceDefinitions,
  findCondition,
  isTrue,
  providerUidAnnotation,
  releaseDeletionsAnnotation,
  unbindFinalizer,
} from "@klutch/api";
import { type DynamicObject, refOf, type ResourceType } from "@klutch/kube";
import { Controller, type ReconcileResult } from "@klutch/kube-runtime";
import { isOwnedBy, jsonHash, syncedVersion, type UnbindPolicy, unbindPolicyOf } from "@klutch/sync";
import type { BindingStatus } from "../binding-status.ts";
import type { CacheLease } from "../cache/pool.ts";
import type { SharedCache } from "../cache/shared-cache.ts";
import type { BindingCluster, ConsumerCluster, Environment, ProviderCluster } from "../clusters.ts";
import { asBinding, asExport, conditionsOf } from "../decode.ts";
import type { EventRecorder } from "../events.ts";
import { DeletionBreaker, isReleased } from "../sync/deletion-breaker.ts";
import { ObjectSyncer } from "../sync/object-syncer.ts";
import { OrphanKeeper } from "../sync/orphan-keeper.ts";
import { isAbandoned, removeUnbindFinalizer } from "./abandon.ts";
import { checkClaims } from "./claim-check.ts";
import { ClaimSet } from "./claim-set.ts";
import { reconcileCrd } from "./crds.ts";
import { writeExportStatus } from "./export-status.ts";
import { isolationInForce } from "./isolation.ts";
import type { NamespaceMap } from "./namespace-map.ts";
import { type NeedyBinding, needsOf, watchStalls } from "./stalls.ts";

/** What the APIs of a session share. */
export interface BoundApisOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly bindingCluster: BindingCluster;
  /** Value of the annotation that pins this provider. */
  readonly identity: string;
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  readonly bindings: SharedCache;
  readonly exports: SharedCache;
  readonly namespaces: NamespaceMap;
  readonly status: BindingStatus;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

interface RunningSyncer {
  readonly signature: string;
  readonly syncer: ObjectSyncer;
  readonly breaker: DeletionBreaker;
}

/** How soon an unbinding that goes on is looked at again. */
const unbindLookMs = 500;

/** See the module comment. */
export class BoundApis implements AsyncDisposable {
  readonly #options: BoundApisOptions;
  readonly #controller: Controller;
  readonly #claims: ClaimSet;
  readonly #orphans: OrphanKeeper;
  /** Binding keys of this session by API name. */
  readonly #attached = new Map<string, string>();
  readonly #crds = new Map<string, { readonly lease: CacheLease; readonly subscription: Disposable }>();
  readonly #syncers = new Map<string, RunningSyncer>();

  constructor(options: BoundApisOptions) {
    this.#options = options;
    const { consumer, provider, environment } = options;
    const { logger, clock, random } = environment;
    this.#claims = new ClaimSet(options);
    this.#orphans = new OrphanKeeper(consumer, provider, environment);
    this.#controller = new Controller({
      name: "bound-apis",
      workers: 1,
      logger,
      clock,
      random,
      reconcile: (name, { signal }) => this.#reconcile(name, signal),
    });
  }

  /** The bindings that use this session, as keys `namespace/name`; a binding has the name of its API. */
  setBindings(keys: Iterable<string>): void {
    const next = new Map([...keys].toSorted().map((key) => [key.slice(key.indexOf("/") + 1), key]));
    for (const name of new Set([...this.#attached.keys(), ...next.keys()])) {
      const key = next.get(name);
      if (key === undefined) this.#attached.delete(name);
      else this.#attached.set(name, key);
      this.#controller.enqueue(name);
    }
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { bindings, exports, status } = this.#options;
    const nameOf = ({ object }: { readonly object: DynamicObject }): readonly string[] => [
      object.metadata.name ?? "",
    ];
    using _one = this.#controller.watch(exports.informer, nameOf);
    using _two = this.#controller.watch(bindings.informer, nameOf);
    using _three = status.onReport((key) => this.#controller.enqueue(key.slice(key.indexOf("/") + 1)));
    const { consumer, provider, environment } = this.#options;
    const stalls = {
      clock: environment.clock,
      consumer: consumer.pool,
      provider: provider.pool,
      bindings: () => this.#needs(),
      status,
    };
    await Promise.all([this.#controller.start({ signal }), watchStalls(stalls, signal)]);
  }

  /** What the caches must show for each binding of this session. */
  *#needs(): IterableIterator<NeedyBinding> {
    for (const [name, key] of this.#attached) {
      const bound = this.#options.bindings.get(key);
      if (bound !== undefined) yield { key, resources: needsOf(name, asBinding(bound)) };
    }
  }

  /** Tells a Warning about an upstream object on its claim. */
  async mirror(
    kind: string,
    apiVersion: string,
    key: string,
    reason: string,
    message: string,
  ): Promise<void> {
    for (const { syncer } of this.#syncers.values()) {
      if (syncer.type.kind === kind && apiVersion.startsWith(`${syncer.type.group}/`))
        await syncer.tell(key, reason, message);
    }
  }

  /** Keys that wait or are worked on, over all syncers. */
  get pending(): number {
    return this.#syncers.values().reduce((sum, { syncer }) => sum + syncer.pending, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const names = [...this.#syncers.keys()];
    await Promise.all(names.map((name) => this.#stopSyncer(name)));
    await this.#claims[Symbol.asyncDispose]();
    await Promise.all([...this.#crds.keys()].map((name) => this.#closeCrd(name)));
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const { bindings, exports, provider } = this.#options;
    const key = this.#attached.get(name);
    const bound = key === undefined ? undefined : bindings.get(key);
    const cached = exports.get(`${provider.tenant.namespace}/${name}`);
    const exported = cached === undefined ? undefined : asExport(cached);
    if (key === undefined || bound === undefined || isAbandoned(bound)) {
      await this.#closeCrd(name);
      await this.#stop(name);
      if (exported !== undefined) await this.#writeStatus(exported, undefined, undefined, signal);
      return undefined;
    }
    const crds = this.#openCrd(name);
    if (!crds.informer.synced || !exports.informer.synced) return undefined;
    if (bound.metadata.deletionTimestamp !== undefined) {
      return this.#unbind(name, key, bound, exported, crds.get(name), signal);
    }
    await this.#take(key, bound, signal);
    return this.#keep(name, key, bound, exported, crds, signal);
  }

  /** From here on the binding does not go before it is unbound, and it belongs to this provider. */
  async #take(key: string, bound: DynamicObject, signal: AbortSignal): Promise<void> {
    const { bindingCluster, bindings, identity } = this.#options;
    const { finalizers = [], annotations = {}, uid, resourceVersion } = bound.metadata;
    if (finalizers.includes(unbindFinalizer) && annotations[providerUidAnnotation] !== undefined) return;
    const patch = {
      metadata: {
        uid,
        resourceVersion,
        finalizers: [...new Set([...finalizers, unbindFinalizer])],
        annotations: { [providerUidAnnotation]: annotations[providerUidAnnotation] ?? identity },
      },
    };
    const { client, bindingType } = bindingCluster;
    bindings.wrote(await client.mergePatch<DynamicObject>(bindingType, refOf(key), patch, { signal }));
  }

  async #keep(
    name: string,
    key: string,
    bound: DynamicObject,
    exported: APIServiceExport | undefined,
    crds: SharedCache,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const { consumer, status } = this.#options;
    await reconcileCrd({
      key,
      binding: asBinding(bound),
      spec: exported?.spec,
      consumer,
      crds,
      status,
      bindingExists: (uid) => this.#bindingExists(uid),
      signal,
    });
    const crd = crds.get(name);
    const isOurs = isOwnedBy(crd, bound.metadata.uid) && isTrue(conditionsOf(crd), "Established");
    const claims = await checkClaims(this.#claims, asBinding(bound).spec, exported?.spec, signal);
    status.report(key, claims.condition);
    let lookAgainMs = claims.lookAgainMs;
    if (isOurs && exported !== undefined && claims.mayWork) {
      lookAgainMs = (await this.#start(name, key, exported, crd, undefined, signal)) ?? lookAgainMs;
      this.#guardDeletions(name, bound, crd);
      await this.#claims.accept(name, claims.honoured, exported.spec.informerScope === "Cluster");
    } else {
      await this.#stop(name);
    }
    if (exported !== undefined) await this.#writeStatus(exported, key, crd, signal);
    return lookAgainMs === undefined ? undefined : { requeueAfterMs: lookAgainMs };
  }

  async #unbind(
    name: string,
    key: string,
    bound: DynamicObject,
    exported: APIServiceExport | undefined,
    crd: DynamicObject | undefined,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const { status, bindingCluster, bindings } = this.#options;
    const isOurs = isOwnedBy(crd, bound.metadata.uid);
    if (isOurs && exported !== undefined) {
      await this.#start(name, key, exported, crd, unbindPolicyOf(bound), signal);
      this.#guardDeletions(name, bound, crd);
      const remaining = this.#syncers.get(name)?.syncer.remaining();
      if (remaining !== 0) {
        const what = remaining === undefined ? "reading what is there" : `${remaining} objects are left`;
        status.report(key, alarmCondition("Unbinding", unbindPolicyOf(bound), "Info", what));
        return { requeueAfterMs: unbindLookMs };
      }
    } else if (isOurs) {
      const what =
        "the provider no longer offers this API, so its objects cannot be released in order; set the annotation klutch.anynines.com/unbind-policy to Abandon to let go of the claims alone";
      status.report(key, alarmCondition("Unbinding", "APIServiceExportNotFound", "Error", what));
      return undefined;
    }
    await this.#stop(name);
    await removeUnbindFinalizer(bindingCluster, bindings.get(key) ?? bound, signal);
    this.#options.environment.logger.info("unbound", { resource: name, policy: unbindPolicyOf(bound) });
    return undefined;
  }

  /** Takes over a hold of an earlier process, ends one that was released, and holds while the CRD itself is being deleted. */
  #guardDeletions(name: string, bound: DynamicObject, crd: DynamicObject | undefined): void {
    const running = this.#syncers.get(name);
    if (running === undefined) return;
    const { breaker, syncer } = running;
    const condition = findCondition(asBinding(bound).status?.conditions, "DeletionHeld");
    const held = condition?.status === "True" ? condition : undefined;
    const release = bound.metadata.annotations?.[releaseDeletionsAnnotation];
    if (held !== undefined && isReleased(held, release)) {
      if (breaker.isHeld) {
        breaker.release();
        syncer.resync();
      } else this.#options.status.retract(this.#attached.get(name) ?? "", "DeletionHeld");
      return;
    }
    if (held !== undefined) breaker.hold(held.message ?? "");
    const { deletionTimestamp: ending } = crd?.metadata ?? {};
    if (ending === undefined) return;
    if (Date.parse(release ?? "") >= Date.parse(ending)) breaker.releaseCrd(ending);
    breaker.holdForCrd(name, ending);
  }

  #bindingExists(uid: string): boolean {
    return [...this.#options.bindings.informer.list()].some(({ metadata }) => metadata.uid === uid);
  }

  /** Gives back when to look again at what may change by itself. */
  async #start(
    name: string,
    key: string,
    exported: APIServiceExport,
    crd: DynamicObject | undefined,
    unbinding: UnbindPolicy | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const version = syncedVersion(exported.spec, crd);
    if (version === undefined) {
      await this.#stopSyncer(name);
      return undefined;
    }
    const { group, names, scope, informerScope } = exported.spec;
    const { client } = this.#options.provider;
    const { isolation, lookAgainMs } = await isolationInForce(client, exported.spec, signal);
    const type: ResourceType = {
      group,
      version: version.name,
      plural: names.plural,
      kind: names.kind,
      namespaced: scope === "Namespaced",
    };
    const shape = {
      type,
      isolation,
      unbinding,
      statusSubresource: version.subresources?.status !== undefined,
      clusterWide: informerScope === "Cluster",
    };
    const signature = jsonHash(shape);
    const running = this.#syncers.get(name);
    if (running?.signature === signature) return lookAgainMs;
    await this.#stopSyncer(name);
    const { clock, timing, logger } = this.#options.environment;
    const breaker =
      running?.breaker ??
      new DeletionBreaker({
        clock,
        limit: timing.massDeletionLimit,
        onChange: (why) => this.#tellHold(key, why),
      });
    const syncer = new ObjectSyncer({ ...this.#options, ...shape, orphans: this.#orphans, breaker });
    this.#syncers.set(name, { signature, syncer, breaker });
    logger.info("syncing", { resource: name, version: version.name, unbinding });
    return lookAgainMs;
  }

  #tellHold(key: string, why: string | undefined): void {
    const { status, environment } = this.#options;
    if (why === undefined) {
      status.retract(key, "DeletionHeld");
      environment.logger.info("upstream deletions go on", { binding: key });
      return;
    }
    status.report(key, alarmCondition("DeletionHeld", "MassDeletion", "Warning", why));
    environment.logger.error("upstream deletions are held", { binding: key, why });
  }

  async #stop(name: string): Promise<void> {
    await this.#stopSyncer(name);
    await this.#claims.withdraw(name);
  }

  async #stopSyncer(name: string): Promise<void> {
    const running = this.#syncers.get(name);
    if (running === undefined) return;
    this.#syncers.delete(name);
    await running.syncer[Symbol.asyncDispose]();
    this.#options.environment.logger.info("no longer syncing", { resource: name });
  }

  async #writeStatus(
    exported: APIServiceExport,
    key: string | undefined,
    crd: DynamicObject | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { provider, exports, environment, status } = this.#options;
    await writeExportStatus({
      exported,
      isBound: key !== undefined,
      schemaInSync: key === undefined ? undefined : status.reported(key, "SchemaInSync"),
      crd,
      provider,
      exports,
      environment,
      signal,
    });
  }

  /** One small watch for each bound CRD: schemas of others are large and none of our business. */
  #openCrd(name: string): SharedCache {
    const open = this.#crds.get(name);
    if (open !== undefined) return open.lease.cache;
    const fieldSelector = `metadata.name=${name}`;
    const lease = this.#options.consumer.pool.acquire({ type: customResourceDefinitions, fieldSelector });
    const subscription = this.#controller.watch(lease.cache.informer);
    this.#crds.set(name, { lease, subscription });
    lease.cache.informer.whenSynced().then(
      () => this.#controller.enqueue(name),
      (error: unknown) => this.#options.environment.logger.debug("a CRD watch was closed", { name, error }),
    );
    return lease.cache;
  }

  async #closeCrd(name: string): Promise<void> {
    const open = this.#crds.get(name);
    if (open === undefined) return;
    this.#crds.delete(name);
    open.subscription[Symbol.dispose]();
    await open.lease[Symbol.asyncDispose]();
  }
}
