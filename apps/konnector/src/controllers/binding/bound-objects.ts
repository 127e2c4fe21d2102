/** The objects of one provider's bound APIs: one object reconciler for each API. */
import type { APIServiceExportSpec } from "@klutch/api";
import { type DynamicObject, jsonHash, keyOf, refOf } from "@klutch/kube-core";
import {
  type Isolation,
  type SaidOfKind,
  type SyncedType,
  syncedType,
  type UnbindPolicy,
} from "@klutch/sync";
import type { ReconcileContext, RelatedObject } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { Running } from "../../lifecycle.ts";
import type { BindingCluster } from "../../clusters.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import type { SecretCauses } from "../claimed-resource/secret-causes.ts";
import type { TakenNames } from "../claimed-resource/taken-names.ts";
import { DeletedNamespaces } from "../object/deleted-namespaces.ts";
import { OrphanCollector } from "../object/orphan-collector.ts";
import { providerTypeOf } from "../object/bound-resource.ts";
import { ObjectReconciler } from "../object/reconciler.ts";
import type { ProviderParts } from "../service-namespace/provider-parts.ts";
import type { ApiLimits } from "./api-limits.ts";
import { CreationHolds } from "./creation-holds.ts";
import { DeletionHolds } from "./deletion-holds.ts";
import { isolationInForce } from "./isolation.ts";

/** Values that the reconcilers share. */
export interface BoundObjectsOptions extends ProviderParts {
  /** The names of Secrets that are taken. */
  readonly takenSecrets: TakenNames;
  /** Traces of the claims that Secrets belong to. */
  readonly secretCauses: SecretCauses;
  readonly status: BindingStatus;
  readonly limits: Pick<ApiLimits, "holdOf" | "forget">;
}

/** API as its export describes it. */
export interface ExportedApi {
  readonly spec: APIServiceExportSpec;
  readonly said: SaidOfKind;
  /** The provider makes no new objects of it. */
  readonly isWithdrawn: boolean;
}

/** The way one API is synced; a different value needs a new reconciler. */
interface SyncShape {
  readonly synced: SyncedType;
  readonly isolation: Isolation;
  /** Set while the API is being unbound. */
  readonly unbinding: UnbindPolicy | undefined;
  /** One watch on the provider instead of one for each service namespace. */
  readonly clusterWide: boolean;
}

/** Result of a start. */
export interface StartedObjects {
  /** False when there is no version that both sides serve; then nothing is synced. */
  readonly isSynced: boolean;
  /** Set when the provider may soon answer otherwise. */
  readonly requeueAfterMs?: number | undefined;
}

interface RunningApi {
  readonly signature: string;
  readonly reconciler: Running<ObjectReconciler>;
}

/** Starts and ends object reconcilers, each with the breaker of its API. Not for concurrent use. */
export class BoundObjects implements AsyncDisposable {
  readonly #options: BoundObjectsOptions;
  readonly #orphans: OrphanCollector;
  readonly #deletedNamespaces: DeletedNamespaces;
  readonly #holds: DeletionHolds;
  readonly #creations: CreationHolds;
  /** By API name. */
  readonly #running = new Map<string, RunningApi>();
  /** Names of APIs of which the provider makes no new objects. */
  readonly #withdrawn = new Set<string>();

  constructor(options: BoundObjectsOptions) {
    this.#options = options;
    const { consumer, provider, namespaces, status, runtime } = options;
    const { massDeletionLimit: limit, graceMs } = runtime.timing;
    const { clock } = runtime;
    this.#orphans = new OrphanCollector(consumer, provider, runtime);
    this.#deletedNamespaces = new DeletedNamespaces({ consumer, namespaces, clock, limit, graceMs });
    this.#holds = new DeletionHolds(status, this.#deletedNamespaces, runtime);
    this.#creations = new CreationHolds(status, runtime);
  }

  /**
   * Syncs the objects of the binding's API, as CRD and export have it, from now on; a reconciler that fits goes on. Its breaker stays
   * the same until `stop`. `unbinding` is set while the API is being unbound.
   */
  async start(
    binding: DynamicObject,
    crd: DynamicObject,
    { spec, said, isWithdrawn }: ExportedApi,
    unbinding: UnbindPolicy | undefined,
    { signal, logger }: ReconcileContext,
  ): Promise<StartedObjects> {
    const { name = "" } = binding.metadata;
    const synced = syncedType(crd, spec, said);
    if (synced === undefined) {
      await this.stop(name, logger);
      return { isSynced: false };
    }
    const { client } = this.#options.provider;
    const { isolation, requeueAfterMs } = await isolationInForce(client, spec, signal);
    const clusterWide = spec.informerScope === "Cluster";
    const mayCreate = this.#creations.adjust(binding);
    await this.#ensure(name, keyOf(binding), { synced, isolation, unbinding, clusterWide }, logger);
    const isReleased = this.#holds.adjust(binding, crd);
    if (this.#withdraw(name, isWithdrawn) || isReleased || mayCreate)
      this.#running.get(name)?.reconciler.part.resync();
    return { isSynced: true, requeueAfterMs };
  }

  /** Records on the binding how far the provider's versions have come; resolves to the time until the next record. */
  recordVersion(cluster: BindingCluster, binding: DynamicObject, signal: AbortSignal): Promise<number> {
    this.#running.get(binding.metadata.name ?? "")?.reconciler.part.noteVersions();
    return this.#creations.record(cluster, binding, signal);
  }

  async stop(name: string, logger: Logger): Promise<void> {
    await this.#end(name, logger);
    this.#holds.forget(name);
    this.#withdrawn.delete(name);
    this.#options.limits.forget(name);
  }

  /** Objects that unbinding has not finished with; undefined while that cannot be known. */
  remaining(name: string): number | undefined {
    return this.#running.get(name)?.reconciler.part.remaining();
  }

  /** Returns the number of the API's upstream objects that the caches show. */
  upstreamCount(name: string): number {
    return this.#running.get(name)?.reconciler.part.upstreamCount ?? 0;
  }

  /** Reconciles claims of the API. */
  wake(name: string, keys: readonly string[]): void {
    this.#running.get(name)?.reconciler.part.wake(keys);
  }

  /** Keys that wait or are worked on, over all APIs. */
  get pending(): number {
    return this.#running.values().reduce((sum, { reconciler }) => sum + reconciler.part.pending, 0);
  }

  /**
   * Records a Warning on the claim with this key, of whichever bound API has the kind. If it speaks of another object, and only other namespaces of
   * the app cluster have one of that name, the Warning says which.
   */
  async recordWarning(
    kind: string,
    apiVersion: string,
    key: string,
    reason: string,
    message: string,
    related: RelatedObject | undefined,
  ): Promise<void> {
    for (const { reconciler } of this.#running.values()) {
      const { type } = reconciler.part;
      if (type.kind === kind && apiVersion.startsWith(`${type.group}/`))
        await reconciler.part.recordWarning(key, reason, message + this.#elsewhere(key, related));
    }
  }

  #elsewhere(key: string, related: RelatedObject | undefined): string {
    if (related === undefined) return "";
    const found = [...this.#running.values()].flatMap(({ reconciler: { part } }) =>
      part.type.namespaced && part.type.kind.endsWith(related.kind) ? part.namespacesOf(related.name) : [],
    );
    const { namespace = "" } = refOf(key);
    const [first] = found.toSorted();
    if (first === undefined || found.includes(namespace)) return "";
    return `; namespace ${first} has one of this name, but a claim can name only those of its own namespace`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { logger } = this.#options.runtime;
    this.#deletedNamespaces[Symbol.dispose]();
    await Promise.all([...this.#running.keys()].map((name) => this.stop(name, logger)));
  }

  async #ensure(name: string, bindingKey: string, shape: SyncShape, logger: Logger): Promise<void> {
    const signature = jsonHash(shape);
    if (this.#running.get(name)?.signature === signature) return;
    await this.#end(name, logger);
    const reconciler = this.#createReconciler(name, bindingKey, shape);
    this.#running.set(name, { signature, reconciler: new Running(reconciler) });
    const { synced, unbinding } = shape;
    logger.info("syncing", { resource: name, version: synced.type.version, unbinding });
  }

  /** Returns true if that changed. */
  #withdraw(name: string, isWithdrawn: boolean): boolean {
    if (this.#withdrawn.has(name) === isWithdrawn) return false;
    if (isWithdrawn) this.#withdrawn.add(name);
    else this.#withdrawn.delete(name);
    return true;
  }

  async #end(name: string, logger: Logger): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    this.#running.delete(name);
    await running.reconciler[Symbol.asyncDispose]();
    logger.info("no longer syncing", { resource: name });
  }

  #createReconciler(name: string, bindingKey: string, shape: SyncShape): ObjectReconciler {
    const { synced, isolation, unbinding, clusterWide } = shape;
    return new ObjectReconciler({
      ...this.#options,
      type: synced.type,
      providerType: providerTypeOf(synced.type, isolation),
      statusSubresource: synced.statusSubresource,
      view: synced.view,
      isolation,
      unbinding,
      clusterWide,
      orphans: this.#orphans,
      breaker: this.#holds.breakerOf(name, bindingKey),
      creations: this.#creations.holdOf(name, bindingKey),
      deletedNamespaces: this.#deletedNamespaces,
      releasedAt: () => this.#holds.releasedAt(name),
      withdrawn: () => (this.#withdrawn.has(name) ? name : undefined),
      limit: this.#options.limits.holdOf(name, synced.type.plural),
    });
  }
}
