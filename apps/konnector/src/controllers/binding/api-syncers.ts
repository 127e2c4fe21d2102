/** The running syncers of one session, one for each API, and the breakers that hold their deletions. */
import { releaseDeletionsAnnotation } from "@klutch/api";
import { type Isolation, type SyncedType, type UnbindPolicy } from "@klutch/sync";
import { alarmCondition, type DynamicObject, findCondition, jsonHash } from "@klutch/kube-core";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import type { ConsumerCluster, Environment, ProviderCluster } from "../../clusters.ts";
import { asBinding } from "../../decode.ts";
import type { EventRecorder } from "../../events.ts";
import { DeletionBreaker, isReleased } from "../object/deletion-breaker.ts";
import { ObjectSyncer } from "../object/object-syncer.ts";
import { OrphanKeeper } from "../object/orphan-keeper.ts";
import type { NamespaceMap } from "../service-namespace/namespace-map.ts";

/** What the syncers of a session share. */
export interface ApiSyncersOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly confirmProvider: (signal: AbortSignal) => Promise<void>;
  readonly namespaces: NamespaceMap;
  readonly status: BindingStatus;
  readonly events: EventRecorder;
  readonly environment: Environment;
}

/** How one API is synced. */
export interface SyncShape extends SyncedType {
  readonly isolation: Isolation;
  readonly unbinding: UnbindPolicy | undefined;
  readonly clusterWide: boolean;
}

interface RunningSyncer {
  readonly signature: string;
  readonly syncer: ObjectSyncer;
  readonly breaker: DeletionBreaker;
}

/** See the module comment. Not for concurrent use. */
export class ApiSyncers implements AsyncDisposable {
  readonly #options: ApiSyncersOptions;
  readonly #orphans: OrphanKeeper;
  readonly #syncers = new Map<string, RunningSyncer>();

  constructor(options: ApiSyncersOptions) {
    this.#options = options;
    const { consumer, provider, environment } = options;
    this.#orphans = new OrphanKeeper(consumer, provider, environment);
  }

  get(name: string): ObjectSyncer | undefined {
    return this.#syncers.get(name)?.syncer;
  }

  all(): IteratorObject<ObjectSyncer> {
    return this.#syncers.values().map(({ syncer }) => syncer);
  }

  /** Syncs the API in this shape from now on; one that already does goes on. */
  async start(name: string, key: string, shape: SyncShape): Promise<void> {
    const signature = jsonHash(shape);
    const running = this.#syncers.get(name);
    if (running?.signature === signature) return;
    await this.stop(name);
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
    logger.info("syncing", { resource: name, version: shape.type.version, unbinding: shape.unbinding });
  }

  async stop(name: string): Promise<void> {
    const running = this.#syncers.get(name);
    if (running === undefined) return;
    this.#syncers.delete(name);
    await running.syncer[Symbol.asyncDispose]();
    this.#options.environment.logger.info("no longer syncing", { resource: name });
  }

  /** Takes over a hold of an earlier process, ends one that was released, and holds while the CRD itself is being deleted. */
  guardDeletions(name: string, key: string, bound: DynamicObject, crd: DynamicObject | undefined): void {
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
      } else this.#options.status.retract(key, "DeletionHeld");
      return;
    }
    if (held !== undefined) breaker.hold(held.message ?? "");
    const { deletionTimestamp: ending } = crd?.metadata ?? {};
    if (ending === undefined) return;
    if (Date.parse(release ?? "") >= Date.parse(ending)) breaker.releaseCrd(ending);
    breaker.holdForCrd(name, ending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#syncers.keys()].map((name) => this.stop(name)));
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
}
