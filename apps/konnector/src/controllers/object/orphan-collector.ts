/** Carries out the interlock of `planOrphan` for one provider: live reads, grace time, breaker. */
import { boundAnnotation, fieldManager } from "@klutch/api";
import type { DynamicObject, ObjectRef, ResourceType } from "@klutch/kube-core";
import { findSurely, type ReconcileContext, type ReconcileResult } from "@klutch/kube-runtime";
import { judgeAbsence, planOrphan } from "@klutch/sync";
import { confirmCluster } from "../../cluster-uid.ts";
import type { ConsumerCluster, ProviderCluster, RuntimeDependencies } from "../../clusters.ts";
import type { CrdGuard } from "./crd-guard.ts";
import type { DeletionBreaker } from "./deletion-breaker.ts";
import { LastMinute, minuteMs } from "./last-minute.ts";

/** Upstream object whose claim is missing. */
export interface Orphan {
  readonly type: ResourceType;
  readonly providerType: ResourceType;
  /** Key of the claim that is missing. */
  readonly key: string;
  /** All claims that the object may serve: while one of them exists, the object is no orphan. */
  readonly consumerRefs: readonly ObjectRef[];
  readonly orphan: DynamicObject;
  readonly breaker: DeletionBreaker;
  readonly crd: CrdGuard;
}

/** Remembers since when claims are missing. A restart starts the grace time again, so it never makes a deletion come earlier. */
export class OrphanCollector {
  readonly #consumer: ConsumerCluster;
  readonly #provider: ProviderCluster;
  readonly #runtime: RuntimeDependencies;
  readonly #missingSince = new Map<string, number>();
  readonly #deletions: LastMinute;

  constructor(consumer: ConsumerCluster, provider: ProviderCluster, runtime: RuntimeDependencies) {
    this.#consumer = consumer;
    this.#provider = provider;
    this.#runtime = runtime;
    this.#deletions = new LastMinute(runtime.clock);
  }

  /** Forgets since when the claim is missing, because it exists or its upstream object is gone. */
  forget(type: ResourceType, key: string): void {
    if (this.#missingSince.size > 0) this.#missingSince.delete(idOf(type, key));
  }

  /** Forgets all missing claims of a resource that is no longer synced. */
  forgetAll(type: ResourceType): void {
    const prefix = idOf(type, "");
    for (const id of this.#missingSince.keys()) if (id.startsWith(prefix)) this.#missingSince.delete(id);
  }

  /** Reconciles one orphan; deletes it only when the interlock allows. */
  async reconcile(orphan: Orphan, call: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { clock, timing } = this.#runtime;
    const { signal, logger } = call;
    const id = idOf(orphan.type, orphan.key);
    const meaning = await this.#judge(orphan, signal);
    if (meaning === "gone") {
      this.#missingSince.delete(id);
      return undefined;
    }
    if (meaning === "lostWithCrd") {
      this.#missingSince.delete(id);
      return (await this.#isAlive(orphan, signal))
        ? { requeueAfterMs: timing.graceMs }
        : this.#restore(orphan, call);
    }
    if (meaning === "nothing") {
      this.#missingSince.delete(id);
      return { requeueAfterMs: timing.graceMs };
    }
    if (orphan.breaker.isHeld) return { requeueAfterMs: minuteMs };
    const now = clock.monotonic();
    const missingSince = this.#missingSince.get(id);
    const isReleased = missingSince !== undefined && missingSince <= orphan.breaker.releasedAt;
    const plan = planOrphan({
      missingSince,
      now,
      graceMs: timing.graceMs,
      // Other missing claims count before the first orphan is deleted: a cluster restored from a backup lacks many at once.
      recentDeletions: isReleased ? 0 : this.#deletions.count + this.#others(id),
      breakerLimit: timing.breakerLimit,
    });
    if (plan.do === "wait") return { requeueAfterMs: plan.waitMs };
    if (plan.do === "hold") {
      logger.error("too many upstream objects lost their claims at once, holding their deletion", {
        resource: orphan.type.plural,
        key: orphan.key,
        limit: timing.breakerLimit,
      });
      orphan.breaker.hold(
        `more than ${timing.breakerLimit} upstream objects have lost their claims within a minute, and no one was seen to delete them`,
      );
      return { requeueAfterMs: minuteMs };
    }
    if (await this.#isAlive(orphan, signal)) {
      this.#missingSince.delete(id);
      return { requeueAfterMs: timing.graceMs };
    }
    if (plan.do === "checkLive") {
      this.#missingSince.set(id, clock.monotonic());
      return { requeueAfterMs: timing.graceMs };
    }
    await this.#delete(orphan, call);
    this.#missingSince.delete(id);
    return undefined;
  }

  #others(id: string): number {
    return this.#missingSince.size - (this.#missingSince.has(id) ? 1 : 0);
  }

  async #judge(
    { crd, providerType, orphan }: Orphan,
    signal: AbortSignal,
  ): Promise<ReturnType<typeof judgeAbsence> | "gone"> {
    const { name = "", namespace, uid } = orphan.metadata;
    const state = await crd.observe(signal);
    const { client } = this.#provider;
    const found = await client.find<DynamicObject>(providerType, { name, namespace }, { signal });
    if (found?.metadata.uid !== uid) return "gone";
    return judgeAbsence(state, found?.metadata.creationTimestamp);
  }

  /** Removes our mark, so that the object is adopted and its claim created again. */
  async #restore(
    { type, providerType, key, orphan }: Orphan,
    { signal, logger }: ReconcileContext,
  ): Promise<undefined> {
    const { name = "", namespace, uid } = orphan.metadata;
    logger.info("the claim went with an earlier CustomResourceDefinition, restoring it", {
      resource: type.plural,
      key,
    });
    const patch = { metadata: { uid, annotations: { [boundAnnotation]: null } } };
    await this.#provider.client.mergePatch(providerType, { name, namespace }, patch, {
      fieldManager,
      signal,
    });
  }

  async #isAlive(orphan: Orphan, signal: AbortSignal): Promise<boolean> {
    const { client, uid } = this.#consumer;
    await confirmCluster(client, uid, signal);
    for (const ref of orphan.consumerRefs) {
      if ((await findSurely(client, orphan.type, ref, signal)) !== undefined) return true;
    }
    return false;
  }

  async #delete(
    { type, providerType, key, orphan }: Orphan,
    { signal, logger }: ReconcileContext,
  ): Promise<void> {
    const { name = "", namespace, uid } = orphan.metadata;
    this.#deletions.add();
    logger.info("the claim is gone, deleting what it left on the provider", {
      resource: type.plural,
      key,
      namespace,
      name,
    });
    await this.#provider.client.delete(providerType, { name, namespace }, { preconditions: { uid }, signal });
  }
}

function idOf(type: ResourceType, key: string): string {
  return `${type.plural}.${type.group} ${key}`;
}
