/** Events that tell the author of a claim what happens to it. */
import { ApiError, TransportError } from "@klutch/kube";
import { type DynamicObject, isDeleting, keyOfRef } from "@klutch/kube-core";
import {
  creationHeldReason,
  deletionHeldReason,
  isFresh,
  missingSecretWords,
  type Step,
  tenantWords,
  type Waiting,
  wordsOf,
} from "@klutch/sync";
import type { EventRecorder, ReconcileResult } from "@klutch/kube-runtime";
import type { PairProgress } from "./pair-progress.ts";
import type { PairObservation } from "./pair-store.ts";

const titles: Readonly<Record<Waiting, readonly ["Normal" | "Warning", string]>> = {
  mapping: ["Normal", "WaitingForNamespace"],
  providerDeletion: ["Normal", "WaitingForDeletion"],
  providerReplacement: ["Normal", "WaitingForReplacement"],
  orphanConfirmation: ["Normal", "WaitingForConfirmation"],
  deletionHeld: ["Warning", deletionHeldReason],
  creationHeld: ["Warning", creationHeldReason],
  foreignObject: ["Warning", "NameTaken"],
  notOffered: ["Warning", "NotOffered"],
  limitReached: ["Warning", "LimitReached"],
  quotaNotCounted: ["Normal", "WaitingForQuota"],
  secondObject: ["Warning", "TwoUpstreamObjects"],
};

/** Attempts after which a failure that may pass by itself is recorded. */
const recordAfterFailures = 3;

/** Records the events of pairs on their claims. Reads from the progress how long a pair has differed and how often it failed. */
export class PairEvents {
  readonly #recorder: EventRecorder;
  readonly #progress: PairProgress;
  readonly #recordAfterMs: number;
  readonly #clusterNamespace: string;

  /** `clusterNamespace`: the tenant's at the provider, which no event names. */
  constructor(
    recorder: EventRecorder,
    progress: PairProgress,
    recordAfterMs: number,
    clusterNamespace: string,
  ) {
    this.#clusterNamespace = clusterNamespace;
    this.#recorder = recorder;
    this.#progress = progress;
    this.#recordAfterMs = recordAfterMs;
  }

  /** Records the ordinary life of a claim: accepted, placed, synced. The last is recorded once, not with each new status. */
  carriedOut({ placed: { key }, consumer, provider }: PairObservation, step: Step, now: number): void {
    if (consumer === undefined) return;
    const progress = this.#progress;
    if (step.do === "createMapping") {
      const text = "asked the provider for a namespace that mirrors this one";
      this.#recorder.recordRoutine(consumer, "Accepted", text);
    } else if (step.do === "applyProvider" && provider === undefined) {
      this.#recorder.recordRoutine(consumer, "Placed", "created at the provider");
    } else if (isFirstStatus(step, consumer) && provider?.status !== undefined) {
      if (progress.isFirstStatusRecorded(key)) return;
      progress.recordedFirstStatus(key);
      const lagMs = Math.round(progress.lagMs(key, now));
      const text = `the provider's first status is here, ${lagMs} ms after the konnector saw it there`;
      this.#recorder.recordRoutine(consumer, "Synced", text);
    }
  }

  /**
   * Records why a write failed: at once when a server refused its content, after some attempts when the failure may pass by itself.
   * Counts the failure as an attempt of this pair.
   */
  async failed(
    { placed: { key }, consumer }: PairObservation,
    { do: what }: Step,
    error: unknown,
  ): Promise<void> {
    const failures = this.#progress.failed(key);
    if (consumer === undefined) return;
    const where = onConsumer.has(what) ? "this cluster" : "the provider";
    if (error instanceof ApiError && (error.status === 422 || error.status === 403)) {
      // Another object has the name now; the next reconcile sees it.
      if (error.message.includes("metadata.uid")) return;
      const advice = "It is tried again. Change the object, or ask the provider.";
      await this.#recorder.record(
        consumer,
        "Warning",
        "SyncRefused",
        `${where} refused the object: ${this.#said(error)}. ${advice}`,
      );
      return;
    }
    if (failures < recordAfterFailures) return;
    if (error instanceof TransportError) {
      const text = `${where} cannot be reached; this change is kept and sent as soon as it can be`;
      await this.#recorder.record(consumer, "Warning", "WaitingForConnection", text);
    } else if (error instanceof ApiError && error.status !== 409) {
      await this.#recorder.record(
        consumer,
        "Warning",
        "SyncFailed",
        `${where}: ${this.#said(error)}. It is tried again.`,
      );
    }
  }

  #said({ message }: Error): string {
    return tenantWords(message, this.#clusterNamespace);
  }

  /** Records that the Secret with the claim's credentials is another one, or does not cross. */
  async missingSecret({ consumer, missingSecret }: PairObservation): Promise<void> {
    if (consumer === undefined || missingSecret === undefined || isDeleting(consumer)) return;
    const text = missingSecretWords(missingSecret);
    await this.#recorder.record(consumer, "Warning", missingSecret.reason, text);
  }

  /** Records on the claim what the pair waits for, once it has waited long enough; until then returns when that will be. */
  async waits(
    observed: PairObservation,
    claim: DynamicObject,
    waiting: Waiting,
    { since, now }: { readonly since: number; readonly now: number },
  ): Promise<ReconcileResult | undefined> {
    const { target, second } = observed;
    // In this order: a difference that rounding makes smaller than the clock's step would be waited for again and again.
    const leftMs =
      waiting === "deletionHeld" || waiting === "creationHeld" || waiting === "limitReached"
        ? 0
        : since + this.#recordAfterMs - now;
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const [type, reason] = isRefused(waiting, observed) ? namespaceRefused : titles[waiting];
    const named =
      target === undefined || second === undefined ? "" : ` (${keyOfRef(target)} and ${keyOfRef(second)})`;
    await this.#recorder.record(claim, type, reason, wordsOf(waiting, observed) + named);
    return undefined;
  }
}

const namespaceRefused = ["Warning", "NamespaceRefused"] as const;

/** Returns true if the wait for the namespace does not end by itself. */
function isRefused(waiting: Waiting, { mapping }: PairObservation): boolean {
  return waiting === "mapping" && mapping.state === "pending" && mapping.why !== undefined;
}

function isFirstStatus(step: Step, { status }: DynamicObject): boolean {
  return step.do === "writeStatus" && (status === undefined || isFresh(status));
}

const onConsumer: ReadonlySet<Step["do"]> = new Set([
  "addFinalizer",
  "unmarkConsumer",
  "createConsumer",
  "handOverConsumer",
  "deleteConsumer",
  "removeFinalizer",
  "writeStatus",
]);
