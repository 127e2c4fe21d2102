/** The managed resource during one reconcile: as it was last read or written, and every write to it. */
import { type Clock, isConflict, type KubeClient } from "@klutch/kube";
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

/** Times that one write of annotations is tried while somebody else writes the object. */
const maxTries = 5;

/** Writes only what differs. */
export class ManagedObject<M extends Managed> {
  readonly #options: ManagedObjectOptions;
  readonly #signal: AbortSignal;
  #current: M;
  /** True once this reconcile wrote the object, which is then no copy of a stale cache. */
  #isWritten = false;

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

  /**
   * `undefined` removes an annotation. A conflict with the write of somebody else, after one of this reconcile, is made up for as long as these
   * annotations are as this reconcile knows them: what a backend answered is recorded, and the backend is not asked twice.
   */
  async updateAnnotations(annotations: Readonly<Record<string, string | undefined>>): Promise<void> {
    const patch = Object.entries(annotations).map(([name, value]) => [name, value ?? null] as const);
    for (let tries = 1; ; tries++) {
      try {
        await this.#patchMetadata({ annotations: Object.fromEntries(patch) });
        return;
      } catch (error) {
        if (!isConflict(error) || !this.#isWritten || tries === maxTries) throw error;
        if (!(await this.#reread(Object.keys(annotations)))) throw error;
      }
    }
  }

  /** Takes the object as the API server has it now; false when another object has the name, or somebody else wrote one of these annotations. */
  async #reread(names: readonly string[]): Promise<boolean> {
    const { client, type } = this.#options;
    const { annotations: known = {}, uid } = this.#current.metadata;
    const found = await client.get<M>(type, refOfObject(this.#current), { signal: this.#signal });
    const { annotations = {} } = found.metadata;
    if (found.metadata.uid !== uid || names.some((name) => annotations[name] !== known[name])) return false;
    this.#current = found;
    return true;
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
    this.#isWritten = true;
  }
}
