/** The APIs of one session: export → CRD → syncers, one reconcile for each API by name (`<plural>.<group>`). */
import {
  type APIServiceExportSpec,
  type ForeignExport,
  providerUidAnnotation,
  unbindFinalizer,
} from "@klutch/api";
import { type CacheLease, Controller, type ReconcileResult, type SharedCache } from "@klutch/kube-runtime";
import { identityChange, type SyncedType, syncedType, type UnbindPolicy, unbindPolicyOf } from "@klutch/sync";
import {
  alarmCondition,
  customResourceDefinitions,
  type DynamicObject,
  isOwnedBy,
  isTrue,
  refOf,
} from "@klutch/kube-core";
import type { BindingCluster } from "../../clusters.ts";
import { asBinding, conditionsOf } from "../../decode.ts";
import { ClaimSet } from "../claimed-resource/claim-set.ts";
import { reconcileCrd } from "../crd/crds.ts";
import { writeExportStatus } from "../crd/export-status.ts";
import type { ForeignExports } from "../crd/foreign-exports.ts";
import { isAbandoned, removeUnbindFinalizer } from "./abandon.ts";
import { ApiSyncers, type ApiSyncersOptions } from "./api-syncers.ts";
import { checkClaims } from "./claim-check.ts";
import { isolationInForce } from "./isolation.ts";
import { needsOf, type NeedyBinding, watchStalls } from "./stalls.ts";

/** What the APIs of a session share. */
export interface BoundApisOptions extends ApiSyncersOptions {
  readonly bindingCluster: BindingCluster;
  /** Value of the annotation that pins this provider. */
  readonly identity: string;
  readonly bindings: SharedCache;
  readonly exports: ForeignExports;
}

/** How soon an unbinding that goes on is looked at again. */
const unbindLookMs = 500;

/** See the module comment. */
export class BoundApis implements AsyncDisposable {
  readonly #options: BoundApisOptions;
  readonly #controller: Controller;
  readonly #claims: ClaimSet;
  /** Binding keys of this session by API name. */
  readonly #attached = new Map<string, string>();
  readonly #crds = new Map<string, { readonly lease: CacheLease; readonly subscription: Disposable }>();
  readonly #syncers: ApiSyncers;

  constructor(options: BoundApisOptions) {
    this.#options = options;
    const { logger, clock, random } = options.environment;
    this.#claims = new ClaimSet(options);
    this.#syncers = new ApiSyncers(options);
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
    using _one = this.#controller.watch(exports.cache.informer, nameOf);
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
    for (const syncer of this.#syncers.all()) {
      if (syncer.type.kind === kind && apiVersion.startsWith(`${syncer.type.group}/`))
        await syncer.tell(key, reason, message);
    }
  }

  /** Keys that wait or are worked on, over all syncers. */
  get pending(): number {
    return this.#syncers.all().reduce((sum, syncer) => sum + syncer.pending, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#syncers[Symbol.asyncDispose]();
    await this.#claims[Symbol.asyncDispose]();
    await Promise.all([...this.#crds.keys()].map((name) => this.#closeCrd(name)));
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const { bindings, exports } = this.#options;
    const key = this.#attached.get(name);
    const bound = key === undefined ? undefined : bindings.get(key);
    const exported = exports.get(name);
    if (key === undefined || bound === undefined || isAbandoned(bound)) {
      await this.#closeCrd(name);
      await this.#stop(name);
      if (exported !== undefined) await this.#writeStatus(exported, undefined, undefined, signal);
      return undefined;
    }
    const crds = this.#openCrd(name);
    if (!crds.informer.synced || !exports.cache.informer.synced) return undefined;
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
    exported: ForeignExport | undefined,
    crds: SharedCache,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const { consumer, status } = this.#options;
    const binding = asBinding(bound);
    const { spec, lookAgainMs } = await reconcileCrd({
      key,
      binding,
      exported,
      consumer,
      crds,
      status,
      bindingExists: (uid) => this.#bindingExists(uid),
      signal,
    });
    const crd = crds.get(name);
    const own = isOwnedBy(crd, bound.metadata.uid) ? crd : undefined;
    const requeueAfterMs = await this.#sync(name, key, bound, spec, own, signal);
    if (exported !== undefined) await this.#writeStatus(exported, key, own, signal);
    const again = requeueAfterMs ?? lookAgainMs;
    return again === undefined ? undefined : { requeueAfterMs: again };
  }

  /** Starts or stops the syncers; resolves to the time after which to look again, if there is one. */
  async #sync(
    name: string,
    key: string,
    bound: DynamicObject,
    spec: APIServiceExportSpec | undefined,
    crd: DynamicObject | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    if (spec === undefined) {
      await this.#stop(name);
      return undefined;
    }
    const claims = await checkClaims(this.#claims, asBinding(bound).spec, spec, signal);
    this.#options.status.report(key, claims.condition);
    const synced =
      crd !== undefined && isTrue(conditionsOf(crd), "Established") ? syncedType(crd, spec) : undefined;
    if (synced === undefined || !claims.mayWork) {
      await this.#stop(name);
      return claims.lookAgainMs;
    }
    const lookAgainMs = await this.#start(name, key, synced, spec, undefined, signal);
    this.#syncers.guardDeletions(name, key, bound, crd);
    await this.#claims.accept(name, claims.honoured, spec.informerScope === "Cluster");
    return lookAgainMs ?? claims.lookAgainMs;
  }

  async #unbind(
    name: string,
    key: string,
    bound: DynamicObject,
    exported: ForeignExport | undefined,
    crd: DynamicObject | undefined,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const { status, bindingCluster, bindings } = this.#options;
    if (crd !== undefined && isOwnedBy(crd, bound.metadata.uid)) {
      const unusable = unusableReason(exported, crd);
      if (exported?.spec === undefined || unusable !== undefined) {
        const what = `${unusable ?? ""}, so its objects cannot be released in order; set the annotation klutch.anynines.com/unbind-policy to Abandon to let go of the claims alone`;
        await this.#stop(name);
        status.report(key, alarmCondition("Unbinding", "APIServiceExportNotFound", "Error", what));
        return undefined;
      }
      const synced = syncedType(crd, exported.spec);
      await this.#start(name, key, synced, exported.spec, unbindPolicyOf(bound), signal);
      this.#syncers.guardDeletions(name, key, bound, crd);
      const remaining = this.#syncers.get(name)?.remaining();
      if (remaining !== 0) {
        const what = remaining === undefined ? "reading what is there" : `${remaining} objects are left`;
        status.report(key, alarmCondition("Unbinding", unbindPolicyOf(bound), "Info", what));
        return { requeueAfterMs: unbindLookMs };
      }
    }
    await this.#stop(name);
    await removeUnbindFinalizer(bindingCluster, bindings.get(key) ?? bound, signal);
    this.#options.environment.logger.info("unbound", { resource: name, policy: unbindPolicyOf(bound) });
    return undefined;
  }

  #bindingExists(uid: string): boolean {
    return [...this.#options.bindings.informer.list()].some(({ metadata }) => metadata.uid === uid);
  }

  /** Gives back when to look again at what may change by itself. */
  async #start(
    name: string,
    key: string,
    synced: SyncedType | undefined,
    spec: APIServiceExportSpec,
    unbinding: UnbindPolicy | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    if (synced === undefined) {
      await this.#syncers.stop(name);
      return undefined;
    }
    const { isolation, lookAgainMs } = await isolationInForce(this.#options.provider.client, spec, signal);
    const clusterWide = spec.informerScope === "Cluster";
    await this.#syncers.start(name, key, { ...synced, isolation, unbinding, clusterWide });
    return lookAgainMs;
  }

  async #stop(name: string): Promise<void> {
    await this.#syncers.stop(name);
    await this.#claims.withdraw(name);
  }

  async #writeStatus(
    exported: ForeignExport,
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
      exports: exports.cache,
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

/** Why objects cannot be released with the help of this export; undefined when they can. */
function unusableReason(exported: ForeignExport | undefined, crd: DynamicObject): string | undefined {
  if (exported === undefined) return "the provider no longer offers this API";
  if (exported.spec === undefined) return `the provider's export cannot be used (${exported.problem})`;
  const change = identityChange(crd, exported.spec);
  return change === undefined
    ? undefined
    : `the provider's export is no longer the API that was bound (${change})`;
}
