/** Conditions: observations about an object, one entry for each aspect. In Cluster API's style, with a severity. */
import { isRecord } from "./is-record.ts";
import { wholeSeconds } from "./time.ts";
import { listAt } from "./value-at.ts";

/** A condition as Cluster API has it: with a severity that is set only while the condition is bad news. */
export interface Condition {
  readonly type: string;
  /** `True`, `False` or `Unknown`; the schema does not enforce it. */
  readonly status: string;
  /** `Error`, `Warning` or `Info`; only while the status is False, or True for an alarm. */
  readonly severity?: string | undefined;
  /** RFC 3339, whole seconds. */
  readonly lastTransitionTime: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** A condition as `metav1.Condition` has it: no severity, and the generation of the object that it is about. */
export interface StandardCondition extends Omit<Condition, "severity"> {
  readonly reason: string;
  readonly observedGeneration?: number | undefined;
}

/** A condition without its time, which `setCondition` fills in. */
export type NewCondition = Omit<Condition, "lastTransitionTime">;

/** Severity of a condition. */
export type Severity = "Error" | "Warning" | "Info";

const ready = "Ready";

/**
 * A condition that says, by being True, that something is held or going on, and why. The severity distinguishes it from good news. It is absent
 * while there is nothing to report.
 */
export function alarmCondition(
  type: string,
  reason: string,
  severity: Severity,
  message: string,
): NewCondition {
  return { type, status: "True", severity, reason, message };
}

/** A True condition has no severity, reason or message. */
export function trueCondition(type: string): NewCondition {
  return { type, status: "True" };
}

/** A False condition and why. */
export function falseCondition(
  type: string,
  reason: string,
  severity: Severity,
  message: string,
): NewCondition {
  return { type, status: "False", severity, reason, message };
}

/** The condition of this type; undefined where there is none. */
export function findCondition<C extends NewCondition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Returns true if the condition of this type has status True; false when it does not exist. */
export function isTrue(conditions: readonly NewCondition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * The conditions in the status of any object, whatever else they have. What has no type or status, or a reason or message that is no text,
 * is left out. Texts of a stranger's server are as they are: `parseExport` and its like in api clean them.
 */
export function conditionsOf(object: { readonly status?: unknown } | undefined): readonly NewCondition[] {
  return listAt(object?.status, "conditions").filter(isCondition);
}

function isCondition(value: unknown): value is NewCondition {
  if (!isRecord(value) || typeof value["type"] !== "string" || typeof value["status"] !== "string")
    return false;
  return [value["severity"], value["reason"], value["message"]].every(
    (text) => text === undefined || typeof text === "string",
  );
}

/**
 * The list with `condition` in it: `Ready` first, then by type. The time moves only when status, reason, severity or message do,
 * so setting an existing condition gives an equal list. `now` is in milliseconds since the epoch.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: NewCondition,
  now: number,
): readonly Condition[] {
  return withCondition(conditions, condition, wholeSeconds(now));
}

/** As `setCondition`, for conditions with other fields as well, which are taken from `condition`; `now` is RFC 3339. */
export function withCondition<N extends NewCondition>(
  conditions: readonly (N & Pick<Condition, "lastTransitionTime">)[] | undefined,
  condition: N,
  now: string,
): readonly (N & Pick<Condition, "lastTransitionTime">)[] {
  const others = (conditions ?? []).filter(({ type }) => type !== condition.type);
  const previous = findCondition(conditions, condition.type);
  const unchanged = previous !== undefined && sameState(previous, condition);
  const lastTransitionTime = unchanged ? previous.lastTransitionTime : now;
  return [...others, { ...condition, lastTransitionTime }].toSorted(byType);
}

/** Sets several and then `Ready` as their summary. */
export function setConditions(
  conditions: readonly Condition[] | undefined,
  changes: readonly NewCondition[],
  now: number,
): readonly Condition[] {
  const changed = changes.reduce<readonly Condition[]>(
    (list, change) => setCondition(list, change, now),
    conditions ?? [],
  );
  const summary = summarizeReady(changed);
  return summary === undefined ? changed : setCondition(changed, summary, now);
}

/** Worst first: what `Ready` takes its status, reason and message from. A True weighs more than an Unknown; the wire has it so. */
const order: readonly string[] = ["False/Error", "False/Warning", "False/Info", "True", "Unknown"];

/** `Ready` as the summary of all others; undefined when there are none. An alarm counts as False. */
export function summarizeReady(conditions: readonly NewCondition[]): NewCondition | undefined {
  const [worst] = conditions
    .filter(({ type }) => type !== ready)
    .map((condition) => (isAlarm(condition) ? { ...condition, status: "False" } : condition))
    .toSorted((left, right) => rank(left) - rank(right) || left.type.localeCompare(right.type));
  if (worst === undefined) return undefined;
  if (worst.status === "True") return trueCondition(ready);
  const { status, severity, reason, message } = worst;
  return { type: ready, status, severity, reason, message };
}

/**
 * Returns true for a condition that reports a problem: False, or an alarm. Those of severity Info only inform, and `Ready` only sums up the
 * others.
 */
export function isProblem(condition: NewCondition): boolean {
  const { type, status, severity } = condition;
  return type !== ready && severity !== "Info" && (status === "False" || isAlarm(condition));
}

function isAlarm({ status, severity }: NewCondition): boolean {
  return status === "True" && severity !== undefined && severity !== "";
}

function rank({ status, severity }: NewCondition): number {
  // False without a severity does not mean that it is harmless.
  const key =
    status === "False" ? `False/${severity === undefined || severity === "" ? "Error" : severity}` : status;
  const index = order.indexOf(key);
  return index < 0 ? order.length : index;
}

function sameState(left: NewCondition, right: NewCondition): boolean {
  return (
    left.status === right.status &&
    left.reason === right.reason &&
    left.severity === right.severity &&
    left.message === right.message
  );
}

function byType(left: NewCondition, right: NewCondition): number {
  if (left.type === ready || right.type === ready) return left.type === ready ? -1 : 1;
  return left.type < right.type ? -1 : 1;
}
