/** What a claim waits for, in words for the person who wrote it. */
import type { DynamicObject } from "@klutch/kube";
import type { Waiting } from "@klutch/sync";
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

/** Tells it once. */
export async function tellWaiting(
  events: EventRecorder,
  about: DynamicObject,
  waiting: Waiting,
): Promise<void> {
  const [type, reason, message] = texts[waiting];
  await events.tell(about, type, reason, message);
}
