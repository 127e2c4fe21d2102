/** The APIs of one session: export → CRD → syncers, one reconcile for each API by name (`<plural>.<group>`). */
import { customResourceDefinitions, isTrue, type APIServiceExport } from "@klutch/api";
import type { DynamicObject, ResourceType } from "@klutch/kube";
import { Controller } from "@klutch/kube-runtime";
import { jsonHash, syncedVersion } from "@klutch/sync";
import type { BindingStatus } from "../binding-status.ts";
import type { CacheLease } from "../cache/pool.ts";
import type { SharedCache } from "../cache/shared-cache.ts";
import type { ConsumerCluster, Environment, ProviderCluster } from "../clusters.ts";
import { asBinding, asExport, conditionsOf } from "../decode.ts";
import type { EventRecorder } from "../events.ts";
import { ObjectSyncer } from "../sync/object-syncer.ts";
import { OrphanKeeper } from "../sync/orphan-keeper.ts";
import { ClaimSet } from "./claim-set.ts";
import { reconcileCrd } from "./crds.ts";
import { writeExportStatus } from "./export-status.ts";
import type { NamespaceMap } from "./namespace-map.ts";

/** What the APIs of a session share. */
export interface BoundApisOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
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
}

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
    await this.#controller.start({ signal });
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

  async #reconcile(name: string, signal: AbortSignal): Promise<void> {
    const { bindings, exports, provider, consumer, status } = this.#options;
    const key = this.#attached.get(name);
    const bound = key === undefined ? undefined : bindings.get(key);
    const cached = exports.get(`${provider.tenant.namespace}/${name}`);
    const exported = cached === undefined ? undefined : asExport(cached);
    if (key === undefined || bound === undefined) {
      await this.#closeCrd(name);
      await this.#stopSyncer(name);
      await this.#claims.withdraw(name);
      if (exported !== undefined) await this.#writeStatus(exported, undefined, undefined, signal);
      return;
    }
    const crds = this.#openCrd(name);
    if (!crds.informer.synced || !exports.informer.synced) return;
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
    const isOurs =
      crd?.metadata.ownerReferences?.some(({ uid }) => uid === bound.metadata.uid) === true &&
      isTrue(conditionsOf(crd), "Established");
    await this.#startOrStop(name, isOurs ? exported : undefined);
    if (isOurs && exported !== undefined) {
      await this.#claims.accept(name, asBinding(bound).spec, exported.spec, signal);
    } else {
      await this.#claims.withdraw(name);
    }
    if (exported !== undefined) await this.#writeStatus(exported, key, crd, signal);
  }

  #bindingExists(uid: string): boolean {
    return [...this.#options.bindings.informer.list()].some(({ metadata }) => metadata.uid === uid);
  }

  async #startOrStop(name: string, exported: APIServiceExport | undefined): Promise<void> {
    const version = exported === undefined ? undefined : syncedVersion(exported.spec);
    if (exported === undefined || version === undefined) {
      await this.#stopSyncer(name);
      return;
    }
    const { group, names, scope, informerScope } = exported.spec;
    const type: ResourceType = {
      group,
      version: version.name,
      plural: names.plural,
      kind: names.kind,
      namespaced: scope === "Namespaced",
    };
    const shape = {
      type,
      statusSubresource: version.subresources?.status !== undefined,
      clusterWide: informerScope === "Cluster",
    };
    const signature = jsonHash(shape);
    if (this.#syncers.get(name)?.signature === signature) return;
    await this.#stopSyncer(name);
    const syncer = new ObjectSyncer({ ...this.#options, ...shape, orphans: this.#orphans });
    this.#syncers.set(name, { signature, syncer });
    this.#options.environment.logger.info("syncing", { resource: name, version: version.name });
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
