/**
 * Statuses of both sides in a form in which they can be compared as texts. In it, numbers that are the object's own generation are left out and
 * conditions that speak for others are folded in. Two equal texts without a prefix mean that the claim shows what its upstream object says,
 * as long as its content is the claim's.
 */
import { isRecord, jsonEqual, jsonHash, recordAt } from "@klutch/kube-core";
import type { AppliedRecord } from "./content.ts";
import { asConditions, conditionOf, harmlessStatus, isFresh, spokenConditions } from "./status-conditions.ts";
import { conditionsName } from "./local-words.ts";
import { isConditionCurrent, isObserved, type WithStatus } from "./status-evidence.ts";
import { projectStatus, specReasons } from "./status-projection.ts";
import { isPlain, type StatusView } from "./status-view.ts";

/** Before the text of a status that is not about its object's spec, or that a claim does not show word for word. */
const behind = "~";
/** Before that of a claim's status that says so itself: it waits for its provider to look at what it has got. */
const unanswered = "?";

/** True if the status is not about its object's spec. */
export function isBehind(text: string): boolean {
  return text.startsWith(behind);
}

/** Returns true if the claim itself says that its provider has not observed its spec. */
export function isUnanswered(text: string): boolean {
  return text.startsWith(unanswered);
}

/** Returns true if the claim's status, by its text, is not about the spec that it has now. Undefined is the text of no status. */
export function saysUnseen(text: string | undefined): boolean {
  return text === undefined || isBehind(text);
}

/** The text without what it says of generations. */
export function bareText(text: string): string {
  return isBehind(text) || isUnanswered(text) ? text.slice(1) : text;
}

/** Returns the text of an upstream object's status; undefined without a status. */
export function providerStatusText(object: WithStatus, view: StatusView): string | undefined {
  const status = harmlessStatus(object.status);
  if (status === undefined) return undefined;
  if (isPlain(view) || !isRecord(status)) return jsonHash(status);
  const spoken = view.conditions === undefined ? [] : spokenConditions(asConditions(status));
  // What the claim is to show then has another name in it.
  const isLocal = !conditionsName(asConditions(status), object.metadata.namespace);
  const isCurrent =
    isLocal &&
    isObserved(object, view) &&
    spoken.every(({ sources }) => sources.every((source) => isConditionCurrent(object, source, view)));
  const shown = { ...status, conditions: spoken.map(({ condition }) => condition) };
  const isEmpty = status["conditions"] === undefined && spoken.length === 0;
  const form = withoutNumbers(isEmpty || view.conditions === undefined ? status : shown, view);
  return (isCurrent ? "" : behind) + jsonHash(form);
}

/** Returns the text of a claim's status; undefined without a status, or with only its CRD's default. */
export function claimStatusText(claim: WithStatus, view: StatusView): string | undefined {
  const { status } = claim;
  if (status === undefined || (isDefaultIn(view, status) && isFresh(status))) return undefined;
  if (isPlain(view) || !isRecord(status)) return jsonHash(status);
  const hash = jsonHash(withoutNumbers(status, view));
  const isCurrent = showsOwnNumbers(claim, view);
  const reason = conditionOf(asConditions(status), "Ready")?.["reason"];
  if (isCurrent && reason !== specReasons.notObserved) return hash;
  const provider = { metadata: {} };
  const waiting = projectStatus({ view, claim, provider, notSent: undefined, now: 0 });
  return (jsonEqual(waiting, status) ? unanswered : isCurrent ? "" : behind) + hash;
}

/** Returns true if the schema has the field by which a default status is known. */
function isDefaultIn({ hasNumber, conditions }: StatusView, status: unknown): boolean {
  return recordAt(status)["conditions"] === undefined ? hasNumber : conditions !== undefined;
}

/** The record of a write of `wanted` to the claim's status after which it was `observed`. */
export function statusRecordOf(
  { metadata }: Pick<WithStatus, "metadata">,
  wanted: unknown,
  observed: unknown,
  view: StatusView,
): AppliedRecord {
  const textOf = (status: unknown): string => claimStatusText({ metadata, status }, view) ?? "";
  return { wanted: textOf(wanted), observed: textOf(observed) };
}

/** Returns true if all generations that the view has exist and are the claim's. Where none is written, none may exist. */
function showsOwnNumbers({ metadata, status }: WithStatus, view: StatusView): boolean {
  const own = view.isSubresource ? metadata.generation : undefined;
  const isOwn = (holder: unknown): boolean => recordAt(holder)["observedGeneration"] === own;
  if (view.hasNumber && !isOwn(status)) return false;
  return view.conditions?.includes("observedGeneration") !== true || asConditions(status).every(isOwn);
}

function withoutNumbers(status: Readonly<Record<string, unknown>>, view: StatusView): unknown {
  const { observedGeneration, ...rest } = status;
  const kept = view.hasNumber || observedGeneration === undefined ? rest : status;
  const { conditions } = kept;
  if (view.conditions?.includes("observedGeneration") !== true || !Array.isArray(conditions)) return kept;
  return { ...kept, conditions: conditions.map((item: unknown) => withoutNumber(item)) };
}

function withoutNumber(item: unknown): unknown {
  if (!isRecord(item)) return item;
  const { observedGeneration: _number, ...rest } = item;
  return rest;
}
