/** Reasons why a pair of objects waits, and their words for the author of the claim. */
import { creationHeldWords, type HeldCreations } from "./held-creation.ts";
import { deletionHeldWords } from "./held-deletion.ts";
import type { Mapping } from "./namespaces.ts";

/** Reason why a pair waits; shown as an event on the claim, and by `Ready` while its spec has not been sent. */
export type Waiting =
  | "mapping"
  | "providerDeletion"
  | "providerReplacement"
  | "orphanConfirmation"
  | "deletionHeld"
  /** Its object is missing since the control plane was restored. */
  | "creationHeld"
  | "foreignObject"
  /** The provider makes no new objects of the API. */
  | "notOffered"
  /** The app cluster may have no more objects of the API. */
  | "limitReached"
  /** The provider has not counted yet for a new limit of the app cluster. */
  | "quotaNotCounted"
  /** Not really: the pair is in sync, and a second upstream object is left alone. */
  | "secondObject";

const waitingWords: Readonly<
  Record<Exclude<Waiting, "notOffered" | "limitReached" | "deletionHeld" | "creationHeld">, string>
> = {
  mapping: "the provider has not prepared a namespace for this one yet",
  providerDeletion: "the provider is still deleting its object; this one goes when that is done",
  providerReplacement:
    "the provider is still deleting an older object of this name; a new one is made when that is gone",
  orphanConfirmation: "it is being checked whether the object is really gone",
  foreignObject:
    "the provider already has an object of this name that belongs to somebody else; choose another name",
  quotaNotCounted:
    "the control plane is counting the objects of this cluster; it is tried again in a few seconds",
  secondObject:
    "the provider has two objects for this one. The first is in sync; the second is left alone until this one is deleted. If nothing uses the second, ask the provider to delete it",
};

/** Facts that the words need. */
export interface WaitingFacts {
  /** The API that is not offered. */
  readonly withdrawn?: string | undefined;
  /** Says how many objects the app cluster may have. */
  readonly limitReached?: string | undefined;
  /** Says why a deletion is held. */
  readonly deletionHeld?: string | undefined;
  /** The restore that no person has answered yet. */
  readonly creationsHeld?: HeldCreations | undefined;
  /** The state of the claim's namespace. */
  readonly mapping?: Mapping | undefined;
}

/** Says it in words. */
export function wordsOf(
  waiting: Waiting,
  { withdrawn, limitReached, deletionHeld, creationsHeld, mapping }: WaitingFacts,
): string {
  if (waiting === "mapping" && mapping?.state === "pending" && mapping.why !== undefined)
    return `${mapping.why}, so nothing of this namespace is sent; ask the platform team`;
  if (waiting === "notOffered") return notOfferedWords(withdrawn ?? "this API");
  if (waiting === "limitReached") return limitReached ?? "";
  if (waiting === "creationHeld") return creationHeldWords(creationsHeld ?? { api: "" });
  return waiting === "deletionHeld" ? deletionHeldWords(deletionHeld ?? "") : waitingWords[waiting];
}

/** Says that nothing new of an API (`<plural>.<group>`) is made. */
export function notOfferedWords(api: string): string {
  return `The platform does not offer ${api} any more. Existing objects continue. Ask the platform team.`;
}
