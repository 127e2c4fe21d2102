/**
 * The status that a claim shows: that of its upstream object, in the claim's own generations. It counts for the claim's spec when the upstream
 * object holds that spec, its numbers are about what it is now, and the echo of its mark, if there is one, is of that mark.
 *
 * |                                  | counts                             | does not count |
 * |----------------------------------|------------------------------------|----------------|
 * | `observedGeneration`, everywhere | the claim's generation             | what stands there if it is lower, else one less than the generation |
 * | `Ready`                          | as the provider says               | `Unknown`, with what was said |
 * | `Ready` True, its Secret cannot come | False, and why         | as above |
 * | `Ready`, its deletion is held    | False, and why                     | likewise |
 * | `Ready`, its object was lost     | –                                  | False, and why |
 * | the provider's namespace in messages | becomes the claim's          | likewise |
 * | control characters in reasons and messages | become a space         | likewise |
 * | the condition that stands for `Ready` (foreign-ready.ts) | makes a `Ready` | likewise |
 * | `klutch.anynines.com/<Type>`     | speaks for `<Type>`, then left out | left out |
 * | everything else                  | as it is                           | as it is |
 *
 * Nothing is remembered: the same two objects give the same status. Only a new condition has the present time.
 */
import { recordAt, wholeSeconds } from "@klutch/kube-core";
import {
  type AnyCondition,
  asConditions,
  conditionOf,
  freshSince,
  harmlessStatus,
  isFresh,
  spokenConditions,
} from "./status-conditions.ts";
import { isConditionCurrent, isObserved, type WithStatus } from "./status-evidence.ts";
import { withReady } from "./foreign-ready.ts";
import { localCondition } from "./local-words.ts";
import { creationHeldReason, type HeldCreations, withHeldCreation } from "./held-creation.ts";
import { saysDeletionHeld, withHeldDeletion } from "./held-deletion.ts";
import { isPlain, shortened, type StatusView, takenFields } from "./status-view.ts";
import { type MissingSecret, saidSecretReason, withMissingSecret } from "./taken-secret.ts";

/** Input of the decision. */
export interface StatusCase {
  readonly view: StatusView;
  readonly claim: WithStatus;
  /** The upstream object; undefined when there is none, or somebody else's. */
  readonly provider: WithStatus | undefined;
  /** Undefined when the upstream object holds the claim's content; otherwise what that waits for, in words. */
  readonly notSent: string | undefined;
  /** The Secret with the claim's credentials, if the app cluster cannot have it (taken-secret.ts). Default: none. */
  readonly missingSecret?: MissingSecret | undefined;
  /** Says why the claim's deletion is held (held-deletion.ts). Default: it is not. */
  readonly deletionHeld?: string | undefined;
  /** Says that no object is created for the claim, because it had one before a restore (held-creation.ts). Default: that is not so. */
  readonly creationHeld?: HeldCreations | undefined;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number;
}

/** Reasons of `Ready` while it is Unknown because the status is not about the claim's spec. */
export const specReasons = { notSent: "SpecNotSent", notObserved: "SpecNotObserved" } as const;

/** The status to be shown; undefined where there is nothing to show. */
export function projectStatus(found: StatusCase): unknown {
  const { missingSecret, deletionHeld, creationHeld, provider } = found;
  const observed =
    provider === undefined
      ? found
      : { ...found, provider: { ...provider, status: harmlessStatus(provider.status) } };
  const status = projectProvided(observed);
  if (deletionHeld !== undefined) return withHeldDeletion(status, deletionHeld, observed);
  if (creationHeld !== undefined) return withHeldCreation(status, creationHeld, observed);
  return missingSecret === undefined ? status : withMissingSecret(status, missingSecret, observed);
}

/** As the provider's object says, alone. */
function projectProvided(observed: StatusCase): unknown {
  const { view, claim, provider, notSent } = observed;
  const base = provider?.status ?? claim.status;
  if (isPlain(view)) return base;
  if (claim.metadata.deletionTimestamp !== undefined) return projectDeleted(observed);
  const counts = notSent === undefined && provider?.status !== undefined && isObserved(provider, view);
  const { generation } = claim.metadata;
  const lower = lowerNumbers(claim);
  const conditions = spokenConditions(localConditions(base, observed)).flatMap(({ condition, sources }) => {
    const isCurrent = counts && sources.every((source) => isConditionCurrent(provider, source, view));
    if (isCurrent) return [withNumber(view, condition, generation)];
    if (condition.type === ready && view.mayBeUnknown) return [unknownReady(observed, condition)];
    // What ours add, or say for others, is of the spec before.
    const shown = counts ? condition : sources.find(({ type }) => type === condition.type);
    return shown === undefined ? [] : [withNumber(view, shown, lower(shown.type))];
  });
  if (!counts && view.mayBeUnknown && conditionOf(conditions, ready) === undefined)
    conditions.push(unknownReady(observed, undefined));
  return assemble(view, base, counts ? generation : lower(undefined), conditions);
}

const ready = "Ready";

/**
 * While the claim is deleted it shows what its provider says of that, and no number rises. A `Ready` that is True there is of the time before,
 * so it does not become True here.
 */
function projectDeleted(observed: StatusCase): unknown {
  const { view, claim, provider } = observed;
  if (provider?.status === undefined) return claim.status;
  const isOurFalse = saidSecretReason(claim) !== undefined || saysDeletionHeld(claim);
  const wasReady = conditionOf(asConditions(claim.status), ready)?.status === "True" || isOurFalse;
  const kept = keptNumbers(claim);
  const conditions = spokenConditions(localConditions(provider.status, observed)).map(({ condition }) => {
    const isRaised = condition.type === ready && condition.status === "True" && !wasReady;
    if (isRaised && view.mayBeUnknown) return unknownReady(observed, condition);
    return withNumber(view, condition, kept(condition.type));
  });
  return assemble(view, provider.status, kept(undefined), conditions);
}

/** The conditions of the status, in the words of the claim's cluster. */
function localConditions(status: unknown, { view, claim, provider }: StatusCase): readonly AnyCondition[] {
  const conditions = withReady(asConditions(status), view);
  const [consumer, theirs] = [claim.metadata.namespace, provider?.metadata.namespace];
  if (consumer === undefined || theirs === undefined) return conditions;
  return conditions.map((condition) => localCondition(condition, { provider: theirs, consumer }));
}

type Numbers = (type: string | undefined) => number | undefined;

/** The number to show where a status does not count: of a condition by its type, or of the status. That of a default is none. */
function lowerNumbers(claim: WithStatus): Numbers {
  const { generation } = claim.metadata;
  const { metadata, status } = claim;
  const isDefault = recordAt(status)["conditions"] !== undefined && isFresh(status);
  const standing = standingNumbers(isDefault ? { metadata } : claim);
  return (type) => {
    if (generation === undefined) return undefined;
    const { number } = standing(type);
    return number !== undefined && number < generation ? number : generation - 1;
  };
}

/** As `lowerNumbers`, but whatever stands there stays: the deletion itself is a generation, and is no reason to write. */
function keptNumbers(claim: WithStatus): Numbers {
  const { generation } = claim.metadata;
  const standing = standingNumbers(claim);
  return (type) => {
    const { isThere, number } = standing(type);
    if (generation === undefined || (isThere && number === undefined)) return undefined;
    return number !== undefined && number <= generation ? number : generation - 1;
  };
}

function standingNumbers({ status }: WithStatus): (type: string | undefined) => {
  readonly isThere: boolean;
  readonly number: number | undefined;
} {
  const byType = new Map(asConditions(status).map((condition) => [condition.type, condition]));
  return (type) => {
    const holder = type === undefined ? status : byType.get(type);
    const number = recordAt(holder)["observedGeneration"];
    return { isThere: holder !== undefined, number: typeof number === "number" ? number : undefined };
  };
}

function withNumber(
  { conditions, isSubresource }: StatusView,
  condition: AnyCondition,
  number: number | undefined,
): AnyCondition {
  if (conditions?.includes("observedGeneration") !== true) return condition;
  const { observedGeneration: _theirs, ...rest } = condition;
  const { type, status } = condition;
  return number === undefined || !isSubresource
    ? { ...rest, type, status }
    : { ...condition, observedGeneration: number };
}

const notObservedWords = "the provider has not looked at this spec yet";
const notSentWords = "the provider has not got this spec yet: ";
const saidBefore = "; of the one before it said ";

function unknownReady(
  { view, claim, notSent, now }: StatusCase,
  said: AnyCondition | undefined,
): AnyCondition {
  const standing = conditionOf(asConditions(claim.status), ready);
  const since = standing?.status === "Unknown" ? standing["lastTransitionTime"] : undefined;
  const isSince = typeof since === "string" && since !== freshSince;
  const why = notSent === undefined ? notObservedWords : `${notSentWords}${notSent}`;
  const words = {
    reason: notSent === undefined ? specReasons.notObserved : specReasons.notSent,
    message: shortened(why + whatWasSaid(said)),
    lastTransitionTime: isSince ? since : wholeSeconds(now),
    observedGeneration: view.isSubresource ? lowerNumbers(claim)(ready) : undefined,
  };
  return { type: ready, status: "Unknown", ...takenFields(view.conditions ?? [], words) };
}

/** Returns true if the condition is our own `Ready` of a claim that was never sent: it quotes nothing that the provider said before. */
export function isNeverSent({ status, reason, message }: AnyCondition): boolean {
  const text = typeof message === "string" ? message : "";
  const isOurs = reason === specReasons.notSent || text.startsWith(notSentWords);
  return status === "Unknown" && isOurs && !text.includes(saidBefore);
}

/** Returns the provider's own message: a message that we wrote before only quotes it. */
function whatWasSaid(said: AnyCondition | undefined): string {
  if (said === undefined) return "";
  const { status, reason, message } = said;
  const text = typeof message === "string" ? message : "";
  // Short, but never left out: it is evidence that there was an object.
  if (reason === creationHeldReason) return `${saidBefore}${status} (${creationHeldReason})`;
  const isReason = reason === specReasons.notSent || reason === specReasons.notObserved;
  // A schema may have one of the two and not the other.
  if (isReason || text.startsWith(notObservedWords) || text.startsWith(notSentWords)) {
    const quoted = text.indexOf(saidBefore);
    return quoted < 0 ? "" : text.slice(quoted);
  }
  const why = [reason, text].filter((part) => typeof part === "string" && part !== "").join(": ");
  return `${saidBefore}${status}${why === "" ? "" : ` (${why})`}`;
}

/** A field that the view does not know stays as it is. */
function assemble(
  view: StatusView,
  base: unknown,
  number: number | undefined,
  conditions: readonly AnyCondition[],
): unknown {
  const { observedGeneration: theirNumber, conditions: theirs, ...rest } = recordAt(base);
  const ownNumber = view.isSubresource ? number : undefined;
  const shown = {
    observedGeneration: view.hasNumber ? ownNumber : theirNumber,
    conditions: view.conditions === undefined ? theirs : isNone(theirs, conditions) ? undefined : conditions,
  };
  const known = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
  const status = { ...rest, ...known };
  return base === undefined && Object.keys(status).length === 0 ? undefined : status;
}

function isNone(theirs: unknown, conditions: readonly AnyCondition[]): boolean {
  return theirs === undefined && conditions.length === 0;
}
