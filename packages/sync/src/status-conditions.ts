/** The conditions of a stranger's status, and those of ours among them that speak for others. */
import { bindGroup, composedCondition, specObservedCondition } from "@klutch/api";
import { harmlessText, isRecord, recordAt, recordsAt } from "@klutch/kube-core";

/** A condition with whatever else its schema has. */
export interface AnyCondition {
  readonly [field: string]: unknown;
  readonly type: string;
  readonly status: string;
}

/** A condition as it is to be shown, and those that it comes from. */
export interface SpokenCondition {
  readonly condition: AnyCondition;
  readonly sources: readonly AnyCondition[];
}

/** The conditions in a status, the first of each type if a stranger has several; what has no type or no status is none. */
export function asConditions(status: unknown): readonly AnyCondition[] {
  const byType = new Map<string, AnyCondition>();
  for (const item of recordsAt(status, "conditions"))
    if (isCondition(item) && !byType.has(item.type)) byType.set(item.type, item);
  return [...byType.values()];
}

function isCondition(item: Readonly<Record<string, unknown>>): item is AnyCondition {
  return typeof item["type"] === "string" && typeof item["status"] === "string";
}

/**
 * A stranger's status as it may stand in the app cluster: reasons and messages of its conditions without characters that steer a terminal or hide a
 * text. The same status where there are none. Each comparison of the two sides takes this form, so nothing is written twice for it.
 */
export function harmlessStatus(status: unknown): unknown {
  if (!isRecord(status) || !Array.isArray(status["conditions"])) return status;
  const conditions: readonly unknown[] = status["conditions"];
  const cleaned = conditions.map(harmlessCondition);
  return cleaned.every((item, index) => item === conditions[index])
    ? status
    : { ...status, conditions: cleaned };
}

function harmlessCondition(item: unknown): unknown {
  if (!isRecord(item)) return item;
  const { reason, message } = item;
  const [cleanReason, cleanMessage] = [reason, message].map((text) =>
    typeof text === "string" ? harmlessText(text) : text,
  );
  if (cleanReason === reason && cleanMessage === message) return item;
  return { ...item, ...definedOf({ reason: cleanReason, message: cleanMessage }) };
}

/** The condition of this type. */
export function conditionOf(conditions: readonly AnyCondition[], type: string): AnyCondition | undefined {
  return conditions.find((condition) => condition.type === type);
}

/** Time of the condition in a default status: a constant, because a default cannot know the time. The CRDs of the Gateway API have the same. */
export const freshSince = "1970-01-01T00:00:00Z";

/** A status that was not written yet: the default of the CRDs that we make, of this release or an earlier one, and what else a schema fills in. */
export function isFresh(status: unknown): boolean {
  const { observedGeneration = -1, conditions } = recordAt(status);
  if (observedGeneration !== -1) return false;
  if (conditions === undefined) return recordAt(status)["observedGeneration"] !== undefined;
  const [ready, ...others] = asConditions(status);
  const isDefault = ready?.status === "Unknown" && ready["lastTransitionTime"] === freshSince;
  return isDefault && ready.type === "Ready" && others.length === 0;
}

const prefix = `${bindGroup}/`;

/**
 * All conditions but ours. `klutch.anynines.com/<Type>` speaks for `<Type>`: its reason and message replace general ones. Its False or Unknown
 * wins, also where no other condition speaks; its True alone makes nothing true. `klutch.anynines.com/Composed` False speaks before them, for
 * `Synced`, and for `Ready` where that is not True.
 */
export function spokenConditions(conditions: readonly AnyCondition[]): readonly SpokenCondition[] {
  const speakers = new Map<string, AnyCondition>();
  for (const condition of conditions) {
    const { type } = condition;
    if (type === specObservedCondition || type === composedCondition || !type.startsWith(prefix)) continue;
    const about = type.slice(prefix.length);
    if (about !== "" && !speakers.has(about)) speakers.set(about, condition);
  }
  const general = conditions.filter(({ type }) => !type.startsWith(prefix));
  const composed = conditionOf(conditions, composedCondition);
  if (composed?.status === "False") {
    // Nothing that was said before is about what cannot be made now. What works goes on working.
    speakers.set("Synced", composed);
    if (conditionOf(general, "Ready")?.status !== "True") speakers.set("Ready", composed);
  }
  const known = new Set(general.map(({ type }) => type));
  const alone = [...speakers].filter(([type, { status }]) => !known.has(type) && status !== "True");
  return [
    ...general.map((condition) => spoken(condition, speakers.get(condition.type))),
    ...alone.map(([type, speaker]) => ({ condition: { ...speaker, type }, sources: [speaker] })),
  ];
}

function spoken(general: AnyCondition, speaker: AnyCondition | undefined): SpokenCondition {
  if (speaker === undefined) return { condition: general, sources: [general] };
  const sources = [general, speaker];
  if (speaker.status === "True" && general.status !== "True") return { condition: general, sources };
  const { status, reason, message, lastTransitionTime } = speaker;
  const words = definedOf({ reason, message });
  if (status === general.status) return { condition: { ...general, ...words }, sources };
  return { condition: { ...general, ...words, ...definedOf({ lastTransitionTime }), status }, sources };
}

function definedOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
