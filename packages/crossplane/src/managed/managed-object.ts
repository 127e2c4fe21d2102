/** The managed resource during one reconcile: as it was last read or written, and every write to it. */
import type { Clock, KubeClient } from "@klutch/kube";
import { refOfObject, type ResourceType, wholeSeconds } from "@klutch/kube-core";
import { type NewCondition, withConditions } from "./conditions.ts";
import { externalNameAnnotation, type Managed } from "./external.ts";
import { mergePatchOf } from "./merge-patch.ts";
import { managedFinalizer } from "./plan.ts";

/** The client that writes. */
export interface ManagedObjectOptions {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly clock: Clock;
}

/** Writes only what differs. */
export class ManagedObject<M extends Managed> {
  readonly #options: ManagedObjectOptions;
  readonly #signal: AbortSignal;
  #current: M;

  constructor(managed: M, options: ManagedObjectOptions, signal: AbortSignal) {
    this.#current = managed;
    this.#options = options;
    this.#signal = signal;
  }

  get current(): M {
    return this.#current;
  }

  /** Finalizer and external name, in one write. */
  async addFinalizerAndName(): Promise<void> {
    const { finalizers = [], annotations = {}, name = "" } = this.#current.metadata;
    const hasFinalizer = finalizers.includes(managedFinalizer);
    if (hasFinalizer && annotations[externalNameAnnotation] !== undefined) return;
    await this.#patchMetadata({
      ...(hasFinalizer ? {} : { finalizers: [...finalizers, managedFinalizer] }),
      annotations: { [externalNameAnnotation]: annotations[externalNameAnnotation] ?? name },
    });
  }

  async removeFinalizer(): Promise<void> {
    const { finalizers = [] } = this.#current.metadata;
    await this.#patchMetadata({ finalizers: finalizers.filter((name) => name !== managedFinalizer) });
  }

  /** `undefined` removes an annotation. */
  async updateAnnotations(annotations: Readonly<Record<string, string | undefined>>): Promise<void> {
    const patch = Object.entries(annotations).map(([name, value]) => [name, value ?? null] as const);
    await this.#patchMetadata({ annotations: Object.fromEntries(patch) });
  }

  /** Conditions that are not named stay, and fields of the status too. `signal`: default that of the reconcile. */
  async writeStatus(
    conditions: readonly NewCondition[],
    fields: Readonly<Record<string, unknown>> = {},
    signal: AbortSignal = this.#signal,
  ): Promise<void> {
    const { clock, client, type } = this.#options;
    const now = wholeSeconds(clock.now());
    const status = {
      ...this.#current.status,
      ...fields,
      conditions: withConditions(this.#current, conditions, now),
    };
    const patch = mergePatchOf(this.#current.status ?? {}, status);
    if (patch === undefined) return;
    const options = { signal, subresource: "status" } as const;
    const ref = refOfObject(this.#current);
    this.#current = await client.mergePatch<M>(type, ref, { status: patch }, options);
  }

  /** Guarded by the resourceVersion, so that a stale cache cannot undo what somebody else wrote. */
  async #patchMetadata(metadata: object): Promise<void> {
    const { client, type } = this.#options;
    const { resourceVersion } = this.#current.metadata;
    const patch = { metadata: { ...metadata, resourceVersion } };
    const ref = refOfObject(this.#current);
    this.#current = await client.mergePatch<M>(type, ref, patch, { signal: this.#signal });
  }
}
