/** What happens to a claim, in words for the person who wrote it. */
import { ApiError, type DynamicObject } from "@klutch/kube";
import type { Step, Waiting } from "@klutch/sync";
import type { EventRecorder } from "../events.ts";

const texts: Readonly<Record<Waiting, readonly ["Normal" | "Warning", string, string]>> = {
  mapping: ["Normal", "WaitingForNamespace", "the provider has not yet prepared its namespace for this one"],
  providerDeletion: [
    "Normal",
    "WaitingForDeletion",
    "the provider is still deleting its part; this object goes when that is done",
  ],
  providerReplacement: [
    "Normal",
    "WaitingForReplacement",
    "the provider is still deleting an older object of this name; this one is created when that is gone",
  ],
  orphanConfirmation: ["Normal", "WaitingForConfirmation", "its absence is being confirmed"],
  deletionHeld: [
    "Warning",
    "DeletionHeld",
    "its deletion is held, because it looks like an accident; see the condition DeletionHeld of the APIServiceBinding. klutch release lets it go on",
  ],
  foreignObject: [
    "Warning",
    "NameTaken",
    "the provider already has an object of this name that belongs to somebody else; choose another name",
  ],
};

/** Tells what a claim waits for, once. */
export async function tellWaiting(
  events: EventRecorder,
  about: DynamicObject,
  waiting: Waiting,
): Promise<void> {
  const [type, reason, message] = texts[waiting];
  await events.tell(about, type, reason, message);
}

/** The ordinary life of a claim: accepted, placed, synced. `memory` keeps the last from being told with each new status. */
export function noteStep(
  events: EventRecorder,
  step: Step,
  {
    consumer,
    provider,
  }: { readonly consumer: DynamicObject | undefined; readonly provider: DynamicObject | undefined },
  memory: { isSynced?: boolean | undefined },
): void {
  if (consumer === undefined) return;
  if (step.do === "createMapping") {
    events.note(consumer, "Accepted", "the provider was asked for a namespace that mirrors this one");
  } else if (step.do === "applyProvider" && provider === undefined) {
    const { namespace, name } = step.content.metadata;
    const where = namespace === undefined ? name : `${namespace}/${name}`;
    events.note(consumer, "Placed", `the provider has it as ${where}`);
  } else if (step.do === "writeStatus" && consumer.status === undefined && memory.isSynced !== true) {
    memory.isSynced = true;
    events.note(consumer, "Synced", "the provider's first status has arrived");
  }
}

/** Tells that a server refused a write for what it says; other failures pass by themselves. */
export async function tellRefusal(
  events: EventRecorder,
  step: Step,
  consumer: DynamicObject | undefined,
  error: unknown,
): Promise<void> {
  if (consumer === undefined || !(error instanceof ApiError)) return;
  if (error.status !== 422 && error.status !== 403) return;
  // The object was made anew meanwhile; the next look sees the new one.
  if (error.message.includes("metadata.uid")) return;
  const where = step.do === "writeStatus" || step.do === "markConsumer" ? "this cluster" : "the provider";
  await events.tell(
    consumer,
    "Warning",
    "SyncRefused",
    `${where} refused it: ${error.message}. It is tried again; change the object, or ask the provider.`,
  );
}
