/** What happens to a claim, in words for the person who wrote it. */
import { ApiError, TransportError } from "@klutch/kube";
import { type DynamicObject, keyOf, keyOfRef, type ObjectRef } from "@klutch/kube-core";
import { isFresh, type Mapping, type Step, type Waiting, waitingWords } from "@klutch/sync";
import type { EventRecorder } from "@klutch/kube-runtime";

const titles: Readonly<Record<Waiting, readonly ["Normal" | "Warning", string]>> = {
  mapping: ["Normal", "WaitingForNamespace"],
  providerDeletion: ["Normal", "WaitingForDeletion"],
  providerReplacement: ["Normal", "WaitingForReplacement"],
  orphanConfirmation: ["Normal", "WaitingForConfirmation"],
  deletionHeld: ["Warning", "DeletionHeld"],
  foreignObject: ["Warning", "NameTaken"],
  secondObject: ["Warning", "TwoUpstreamObjects"],
};

/**
 * Records what a claim waits for, once. `objects` are those it is about, where the claim's name does not say it; `mapping` is that of its
 * namespace.
 */
export async function recordWaiting(
  events: EventRecorder,
  about: DynamicObject,
  waiting: Waiting,
  { objects, mapping }: { readonly objects: readonly ObjectRef[]; readonly mapping: Mapping },
): Promise<void> {
  if (waiting === "mapping" && mapping.state === "pending" && mapping.why !== undefined) {
    const text = `${mapping.why}, so it is not used; ask the provider`;
    await events.record(about, "Warning", "NamespaceRefused", text);
    return;
  }
  const [type, reason] = titles[waiting];
  const named = objects.length === 0 ? "" : ` (${objects.map(keyOfRef).join(" and ")})`;
  await events.record(about, type, reason, waitingWords[waiting] + named);
}

/** The ordinary life of a claim: accepted, placed, synced. `memory` keeps the last from being recorded with each new status. */
export function recordStep(
  events: EventRecorder,
  step: Step,
  {
    consumer,
    provider,
  }: { readonly consumer: DynamicObject | undefined; readonly provider: DynamicObject | undefined },
  memory: { isSynced?: boolean | undefined },
  lagMs: number,
): void {
  if (consumer === undefined) return;
  if (step.do === "createMapping") {
    events.recordRoutine(
      consumer,
      "Accepted",
      "the provider was asked for a namespace that mirrors this one",
    );
  } else if (step.do === "applyProvider" && provider === undefined) {
    events.recordRoutine(consumer, "Placed", `created at the provider as ${keyOf(step.content)}`);
  } else if (isFirstStatus(step, consumer) && provider?.status !== undefined && memory.isSynced !== true) {
    memory.isSynced = true;
    const text = `the provider's first status is here, ${Math.round(lagMs)} ms after the konnector saw it there`;
    events.recordRoutine(consumer, "Synced", text);
  }
}

function isFirstStatus(step: Step, { status }: DynamicObject): boolean {
  return step.do === "writeStatus" && (status === undefined || isFresh(status));
}

/** Attempts after which a failure is recorded that may pass by itself. */
const recordAfterFailures = 3;

/**
 * Records why a write did not succeed: at once when a server refused it for what it says, after some attempts when it may pass by
 * itself. `failures` counts the attempts of this claim.
 */
export async function recordFailure(
  events: EventRecorder,
  step: Step,
  consumer: DynamicObject | undefined,
  error: unknown,
  failures: number,
): Promise<void> {
  if (consumer === undefined) return;
  const where = onConsumer.has(step.do) ? "this cluster" : "the provider";
  if (error instanceof ApiError && (error.status === 422 || error.status === 403)) {
    // The object was made anew meanwhile; the next reconcile sees the new one.
    if (error.message.includes("metadata.uid")) return;
    const text = `${where} refused the object: ${error.message}. It is tried again. Change the object, or ask the provider.`;
    await events.record(consumer, "Warning", "SyncRefused", text);
    return;
  }
  if (failures < recordAfterFailures) return;
  if (error instanceof TransportError) {
    const text = `${where} cannot be reached; this change is kept and sent as soon as it can be`;
    await events.record(consumer, "Warning", "WaitingForConnection", text);
  } else if (error instanceof ApiError && error.status !== 409) {
    await events.record(consumer, "Warning", "SyncFailed", `${where}: ${error.message}. It is tried again.`);
  }
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
